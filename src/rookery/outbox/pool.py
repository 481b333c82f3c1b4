"""Pool: the memory of all requests alive, counted against one budget.

A request takes its share when it is made and gives it back with its last reference. Python's own
allocator reuses the blocks; what it lacks is the bound and the moment of return: those are here.
"""

from contextlib import AbstractContextManager, nullcontext

from rookery.errors import CongestionError, UsageError
from rookery.outbox.limits import REQUEST_OVERHEAD, OutboxLimits

Guard = AbstractContextManager[object]  # a lock, where there are several threads


class RequestPool:
    """The budget of one outbox."""

    __slots__ = ("_limits", "bytes_used", "guard", "requests")

    def __init__(self, limits: OutboxLimits, guard: Guard | None = None) -> None:
        self._limits = limits
        self.guard: Guard = nullcontext() if guard is None else guard
        self.bytes_used = 0
        self.requests = 0  # alive

    def take(self, payload_size: int) -> int:
        """Room for one request; what it costs."""
        limits, size = self._limits, payload_size + REQUEST_OVERHEAD
        if payload_size > limits.payload_size_max:
            raise UsageError(
                f"a request holds at most {limits.payload_size_max} bytes, not {payload_size}"
            )
        with self.guard:
            if (used := self.bytes_used + size) > limits.pool_bytes_max:
                raise CongestionError(
                    f"requests already take {self.bytes_used} of {limits.pool_bytes_max} bytes"
                )
            self.bytes_used = used
            self.requests += 1
        return size

    def give_back(self, size: int) -> None:
        """The last reference to a request is gone; to be called under the guard."""
        self.bytes_used -= size
        self.requests -= 1
        assert self.requests >= 0
