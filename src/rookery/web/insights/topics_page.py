"""The page of publish/subscribe topics."""

from litestar import Response, get

from rookery.errors import RookeryError
from rookery.web.accounts.access import may
from rookery.web.http.dependencies import TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.insights.topics import PubsubTopicsShown, pubsub_topics
from rookery.web.pages.rendering import page

CLI = """rookery lake query 'SELECT theme, sum(messages) FROM facts.message_hours GROUP BY theme'"""


@get("/fleet/topics", opt=may("operator"), include_in_schema=False)
async def topics_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """Topics in the lake; without lake or messages, how to get them."""
    found, problem = PubsubTopicsShown(to=None, themes=[]), ""
    if site.lake is not None:
        try:
            found = await pubsub_topics(site.lake)
        except RookeryError as error:
            problem = str(error)
    values = {
        "found": found,
        "problem": problem,
        "has_lake": site.lake is not None,
        "messages": sum(each.messages for each in found.themes),
        "bytes": sum(each.bytes for each in found.themes),
        "publishers": len({name for each in found.themes for name in each.names}),
    }
    return page(request, "topics.html", values, cli=CLI, json="/api/v1/topics")


HANDLERS = (topics_page,)
