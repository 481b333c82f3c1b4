"""Flow control: how far the other side may send before a program reads."""

from typing import Final

from rookery.mesh.tunnel.limits import WINDOW_START

_GRANT_SHARE: Final = 4  # tell when a quarter of the window would be new


class ReceiveWindow:
    """A window that grows to twice what is read per round trip, so that it limits no reader."""

    __slots__ = ("_cap", "_mark_at", "_mark_read", "consumed", "maximum", "size")

    def __init__(self, cap: int, now: float) -> None:
        self.size = WINDOW_START
        self.consumed = 0  # read, or never to be read
        self.maximum = WINDOW_START  # the credit granted to the other side
        self._cap = cap
        self._mark_at = now
        self._mark_read = 0

    def is_due(self, held: int = 0) -> bool:
        """True if much more can be granted than was."""
        window = min(self.size + held, self._cap)
        return (self.consumed + window - self.maximum) * _GRANT_SHARE >= self.size

    def tell(self, now: float, rtt_s: float, held: int = 0) -> int:
        """The credit to grant; `held` unread bytes of streams do not count against it."""
        elapsed_s = now - self._mark_at
        if elapsed_s >= rtt_s:
            wanted = 2 * rtt_s * (self.consumed - self._mark_read) / elapsed_s
            self.size = int(min(max(self.size, min(wanted, 2 * self.size)), self._cap))
            self._mark_at, self._mark_read = now, self.consumed
        # Unread bytes of one stream must not starve the others.
        window = min(self.size + held, self._cap)
        self.maximum = max(self.maximum, self.consumed + window)
        return self.maximum
