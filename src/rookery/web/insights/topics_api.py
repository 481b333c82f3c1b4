"""For operators: publish-subscribe topics, as the lake saw them."""

from rookery.web.accounts.access import may
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheSite
from rookery.web.insights.lake_reader import lake_of
from rookery.web.insights.topics import PubsubTopicsShown, pubsub_topics


@get("/topics", opt=may("operator", "read"), tags=["topics"], summary="What is published")
async def list_topics(site: TheSite) -> PubsubTopicsShown:
    """By topic, over the last day with messages in the lake."""
    return await pubsub_topics(lake_of(site))


HANDLERS = (list_topics,)
