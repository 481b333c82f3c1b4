"""No request takes longer than it may, however slowly its body comes."""

import asyncio

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from rookery.web.problems import RefusedError


class Deadline(ASGIMiddleware):
    """Ends a request that takes too long; routes that stream have their own bound."""

    scopes = (ScopeType.HTTP,)
    exclude_opt_key = "streams"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await next_app(scope, receive, send)
        except TimeoutError:
            raise RefusedError(503, "slow", "this request took too long", retry_after=1) from None
