"""No request takes longer than it may, however slowly its body comes."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from litestar.enums import ScopeType
from litestar.handlers import BaseRouteHandler
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from rookery.link.admission import TokenBuckets
from rookery.web.accounts.caller import Caller
from rookery.web.http.problems import RequestRefusedError, TooManyRequestsError
from rookery.web.http.request import Connection
from rookery.web.http.same_origin import SAFE_METHODS
from rookery.web.settings import WebLimits


class RequestDeadline(ASGIMiddleware):
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
            raise RequestRefusedError(
                503, "slow", "this request took too long", retry_after=1
            ) from None


class AccountChangeLimit:
    """A guard over the whole application, the last: nobody else uses up what is an account's."""

    def __init__(self, limits: WebLimits) -> None:
        self._changes = TokenBuckets(limits.changes_per_s, limits.changes_burst)
        self._retry_after = max(1, round(1 / limits.changes_per_s))

    def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        """TooManyRequestsError for an account that does not stop."""
        caller: Caller | None = connection.scope.get("user")
        if caller is None or connection.scope.get("method") in SAFE_METHODS:
            return
        if not self._changes.take(caller.account, time.monotonic()):
            raise TooManyRequestsError(
                self._retry_after, "more changes than anybody needs; go slower"
            )


class AccountConcurrencyLimit:
    """Lets so many of each account in at once."""

    def __init__(self, each_max: int) -> None:
        self._each_max = each_max
        self._inside: Counter[int] = Counter()

    @contextmanager
    def enter(self, account: int) -> Iterator[None]:
        """TooManyRequestsError when the account has all its places taken."""
        if self._inside[account] >= self._each_max:
            raise TooManyRequestsError(
                5, f"{self._each_max} connections are being made already; wait"
            )
        self._inside[account] += 1
        try:
            yield
        finally:
            self._inside[account] -= 1
            if not self._inside[account]:
                del self._inside[account]  # an account that left takes no memory
