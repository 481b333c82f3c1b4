"""Limits: time per request; changes a second and concurrent connections per account."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from litestar.enums import ScopeType
from litestar.handlers import BaseRouteHandler
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from rookery.link.token_bucket import TokenBuckets
from rookery.web.accounts.caller import Caller
from rookery.web.http.problems import RequestRefusedError, TooManyRequestsError
from rookery.web.http.request import Connection
from rookery.web.http.same_origin import SAFE_METHODS
from rookery.web.settings import WebLimits


class RequestDeadline(ASGIMiddleware):
    """Answers 503 to requests that take too long; streaming routes have bounds of their own."""

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
    """Guard of all routes: limits changes a second by an account, as each is audited.

    It is the last guard, so that only requests of the account itself count.
    """

    def __init__(self, limits: WebLimits) -> None:
        self._changes = TokenBuckets(limits.changes_per_s, limits.changes_burst)
        self._retry_after = max(1, round(1 / limits.changes_per_s))

    def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        """TooManyRequestsError for an account that changes things too fast."""
        caller: Caller | None = connection.scope.get("user")
        if caller is None or connection.scope.get("method") in SAFE_METHODS:
            return
        if not self._changes.take(caller.account, time.monotonic()):
            raise TooManyRequestsError(self._retry_after, "too many changes; go slower")


class AccountConcurrencyLimit:
    """Limits concurrent connections per account."""

    def __init__(self, each_max: int) -> None:
        self._each_max = each_max
        self._open: Counter[int] = Counter()

    @contextmanager
    def enter(self, account: int) -> Iterator[None]:
        """TooManyRequestsError when the account has that many already."""
        if self._open[account] >= self._each_max:
            raise TooManyRequestsError(
                5, f"{self._each_max} connections are being made already; wait"
            )
        self._open[account] += 1
        try:
            yield
        finally:
            self._open[account] -= 1
            if not self._open[account]:
                del self._open[account]  # idle accounts take no memory
