"""Why a client cannot have its router right now.

UnreachableError
├── UnknownRouterError   nobody of that MAC ever reported
├── SilentRouterError    it did once, but not lately
└── StoreAwayError       a store does not answer; try again soon
"""

from rookery.errors import UnreachableError


class UnknownRouterError(UnreachableError):
    """No router with this MAC has ever proved itself here."""


class SilentRouterError(UnreachableError):
    """The router is known, but has not reported for too long."""

    def __init__(self, message: str, last_seen: float) -> None:
        super().__init__(message)
        self.last_seen = last_seen  # wall seconds


class StoreAwayError(UnreachableError):
    """The database or the hot store does not answer at the moment."""
