"""Drip: connections that say a byte now and then, for as long as they are let."""

import contextlib
import socket
import threading
import time
from types import TracebackType
from typing import NamedTuple, Self

from tests.e2e.fleet.guest import connected
from tests.e2e.fleet.relays import Place

PAUSE_S = 0.5


class _Held(NamedTuple):
    name: str
    drop: bytes
    since: float
    reads: bool


class Drip:
    """`add` connections; a thread keeps them up, and knows when each was ended, and by whom."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._held: dict[socket.socket, _Held] = {}
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.lasted_s: dict[str, float] = {}  # the longest of each name

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()
        for sock in self._held:
            sock.close()

    @property
    def held(self) -> list[str]:
        """Names of those that nobody has ended."""
        with self._lock:
            return [held.name for held in self._held.values()]

    @property
    def longest_s(self) -> float:
        return max(self.lasted_s.values())

    def add(
        self, name: str, place: Place, drop: bytes, first: bytes = b"", *, reads: bool = True
    ) -> None:
        """One that begins with `first`; without `reads` it takes nothing of what it is told."""
        sock = connected(place, self._source)
        with contextlib.suppress(ConnectionError):
            sock.sendall(first)
        sock.setblocking(False)
        with self._lock:
            self._held[sock] = _Held(name, drop, time.monotonic(), reads)

    def _work(self) -> None:
        while not self._is_over.wait(PAUSE_S):
            with self._lock:
                held = list(self._held.items())
            for sock, each in held:
                if self._is_ended(sock, each):
                    lasted = time.monotonic() - each.since
                    with self._lock:
                        self.lasted_s[each.name] = max(lasted, self.lasted_s.get(each.name, 0.0))
                        del self._held[sock]
                    sock.close()

    def _is_ended(self, sock: socket.socket, each: _Held) -> bool:
        try:
            with contextlib.suppress(BlockingIOError):  # it says nothing
                if each.reads and not sock.recv(1 << 16):
                    return True
            with contextlib.suppress(BlockingIOError):  # it takes nothing
                sock.send(each.drop)
        except OSError:
            return True
        return False
