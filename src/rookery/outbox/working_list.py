"""Working list: requests that wait for a session, oldest first.

A request that is dropped stays as a mark until its turn comes; when more than half are marks, they
are swept out. So dropping costs no search, and memory stays within twice what is alive.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from rookery.outbox.request import Request

_SWEEP_AT: Final = 64


class WorkingList:
    """Belongs to the loop's thread."""

    __slots__ = ("_dropped", "_requests")

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._requests) - self._dropped

    def __iter__(self) -> Iterator[Request]:
        for request in self._requests:
            if request.is_queued:
                yield request

    def append(self, request: Request) -> None:
        self._requests.append(request)

    def requeue(self, requests: Iterable[Request]) -> None:
        """To the head, in the order they have, ahead of whatever was added meanwhile."""
        self._requests.extendleft(reversed(list(requests)))

    @property
    def first(self) -> Request | None:
        while self._requests:
            if self._requests[0].is_queued:
                return self._requests[0]
            self._requests.popleft()
            self._dropped -= 1
        return None

    def popleft(self) -> Request:
        """The `first`, which there must be."""
        return self._requests.popleft()

    def dropped(self, request: Request) -> None:
        """One of them is not queued any more."""
        assert not request.is_queued
        self._dropped += 1
        if self._dropped >= _SWEEP_AT and self._dropped * 2 > len(self._requests):
            self._requests = deque(self)
            self._dropped = 0
