"""An ordeal: requests through many session losses in virtual time, some of them cancelled.

The tests run some of them, and `python -m bench outbox` a million.
"""

import random
from collections import deque
from itertools import islice

from rookery.outbox.limits import OutboxLimits
from rookery.outbox.request import OutboxRequest
from rookery.outbox.state import RequestState
from rookery.wire.outbox.frames import Qos
from tests.outbox.ends import Pair

BURST = 500
LIMITS = OutboxLimits(peer_requests_max=10**9, peer_bytes_max=10**15, pool_bytes_max=10**15)
EVERY = 50  # so many requests, and one of them is cancelled


class Ordeal:
    """Alice sends numbers to bob while somebody cuts the session at random bytes."""

    def __init__(self, requests: int, losses: int, seed: int = 1) -> None:
        self._pair = Pair(LIMITS)
        self._random = random.Random(seed)
        self._left = iter(range(requests))
        self._alive: deque[OutboxRequest] = deque()
        self._losses = losses
        self._per_session = requests * 3 // losses // 4  # some are cancelled
        self.seen: list[int] = []
        self.won: set[int] = set()
        self.ended: dict[RequestState, int] = {}

    def run(self) -> None:
        pair, sessions = self._pair, 0
        pair.connect()
        while self._add() or pair.alice.peer.count:
            self._exchange()
            is_due = len(self.seen) >= (sessions + 1) * self._per_session
            if is_due and pair.alice.peer.session is not None and sessions < self._losses:
                sessions += 1
                self._cut()
            pair.now += 0.001
        for request in self._alive:
            self._release(request)

    def _add(self) -> bool:
        pair, added = self._pair, False
        if pair.alice.peer.count > 4 * BURST:
            return True
        for number in islice(self._left, BURST):
            request = OutboxRequest.create(
                pair.alice.outbox.pool, number.to_bytes(4, "big"), qos=Qos.ONCE
            )
            pair.alice.peer.add_packet(request)
            self._alive.append(request)
            added = True
        pair.alice.outbox.process(pair.now)
        for _ in range(BURST // EVERY if added else 0):
            self._cancel(self._random.choice(self._alive))
        pair.alice.outbox.process(pair.now)
        while self._alive and self._alive[0].state.is_end:
            self._release(self._alive.popleft())
        return added

    def _cancel(self, request: OutboxRequest) -> None:
        number = int.from_bytes(request.payload, "big")
        if request.set_invalid():
            self.won.add(number)

    def _release(self, request: OutboxRequest) -> None:
        self.ended[request.state] = self.ended.get(request.state, 0) + 1
        request.release()

    def _exchange(self) -> None:
        pair, random_ = self._pair, self._random
        pair.alice.write(pair.now, random_.randrange(1, 1 << 15))
        pair.pass_on(pair.alice, random_.randrange(1 << 15))
        while pair.bob.arrivals:
            self.seen.append(int.from_bytes(pair.bob.handle().payload, "big"))
        pair.bob.write(pair.now)
        pair.pass_on(pair.bob, random_.randrange(1 << 10))

    def _cut(self) -> None:
        """Both ways, and what was under way is gone."""
        self._pair.lose()
        self._pair.connect()

    def check(self, requests: int) -> None:
        assert self.seen == sorted(set(self.seen))
        assert not self.won & set(self.seen)
        assert len(self.seen) + len(self.won) == requests
        assert self.ended == {
            RequestState.ACKNOWLEDGED: len(self.seen),
            RequestState.CANCELLED: len(self.won),
        }
        pool = self._pair.alice.outbox.pool
        assert (pool.requests, pool.bytes_used) == (0, 0)
        assert self._pair.alice.peer.sessions == self._losses + 1
