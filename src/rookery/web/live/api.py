"""Live updates as server-sent events: `GET /live?topic=devices&topic=alerts`."""

from typing import Annotated

from litestar.params import QueryParameter
from litestar.response import Stream

from rookery.web.accounts.access import may
from rookery.web.devices.connecting import EVENT_STREAM
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheCaller, TheSite

_TOPICS_MAX = 16
_UNBUFFERED = {"X-Accel-Buffering": "no"}  # else some proxies keep the events to themselves


@get("/live", opt=may("user", "read") | {"streams": True}, tags=["live"], summary="What changes")
async def live(
    caller: TheCaller,
    site: TheSite,
    topic: Annotated[list[str], QueryParameter(min_items=1, max_items=_TOPICS_MAX)],
) -> Stream:
    """Server-sent events named after the topic: first everything with `first`, then for each
    change `{"changed": {key: value}, "gone": [key]}`; `problem` while a topic cannot be read, `end`
    when the session has ended."""
    topics = site.live.check(caller, topic)
    events = site.live.events(caller, topics)
    return Stream(events, media_type=EVENT_STREAM, headers=_UNBUFFERED)


HANDLERS = (live,)
