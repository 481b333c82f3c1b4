"""How fast one account may change things: every try is audited, and the audit is kept for years."""

import time

from litestar.handlers import BaseRouteHandler

from rookery.link.admission import Buckets
from rookery.web.callers import Caller
from rookery.web.connection import Connection
from rookery.web.origins import SAFE_METHODS
from rookery.web.problems import TooManyError
from rookery.web.settings import WebLimits


class Pace:
    """A guard over the whole application, the last: nobody else uses up what is an account's."""

    def __init__(self, limits: WebLimits) -> None:
        self._changes = Buckets(limits.changes_per_s, limits.changes_burst)
        self._retry_after = max(1, round(1 / limits.changes_per_s))

    def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        """TooManyError for an account that does not stop."""
        caller: Caller | None = connection.scope.get("user")
        if caller is None or connection.scope.get("method") in SAFE_METHODS:
            return
        if not self._changes.take(caller.account, time.monotonic()):
            raise TooManyError(self._retry_after, "more changes than anybody needs; go slower")
