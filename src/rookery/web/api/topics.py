"""For operators: publish-subscribe topics, as the lake saw them."""

from rookery.web.access import may
from rookery.web.api.route import get
from rookery.web.given import TheSite
from rookery.web.lake_view import lake_of
from rookery.web.themes import ThemesShown, themes_of
from rookery.web.topic import Topic


@get("/topics", opt=may("operator", "read"), tags=["topics"], summary="What is published")
async def list_topics(site: TheSite) -> ThemesShown:
    """By theme, over the last day that the lake knows messages of."""
    return await themes_of(lake_of(site))


HANDLERS = (list_topics,)
TOPICS: tuple[Topic, ...] = ()
