"""Eight threads add and cancel while the session flaps: Q3, Q6 and Q7 over real sockets.

`ROOKERY_OUTBOX_SECONDS` says for how long; with the tests it is a few seconds.
"""

import asyncio
import os
import random
import threading
import time

import pytest

from rookery.errors import CongestionError
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.request import OutboxRequest
from rookery.outbox.state import RequestState
from rookery.runtime.outbox.outbox import AsyncOutbox
from rookery.wire.outbox.frames import Qos
from tests.runtime.outbox.town import BOB, sizes, town, until

SECONDS = float(os.environ.get("ROOKERY_OUTBOX_SECONDS", "4"))
THREADS = 8


class Worker(threading.Thread):
    """Adds numbered requests, and cancels some of its own at random moments."""

    def __init__(self, number: int, outbox: AsyncOutbox, until_s: float) -> None:
        super().__init__()
        self._number = number
        self._outbox = outbox
        self._until_s = until_s
        self.requests: list[tuple[bytes, OutboxRequest]] = []
        self.won: set[bytes] = set()
        self.lost: set[bytes] = set()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work(random.Random(self._number))
        except BaseException as error:
            self.error = error
            raise

    def _work(self, chance: random.Random) -> None:
        while time.monotonic() < self._until_s:
            payload = b"%d %d" % (self._number, len(self.requests))
            request = self._outbox.request(payload, qos=Qos.ONCE)
            try:
                self._outbox.peer(BOB).add_packet(request)
            except CongestionError:
                request.release()
                time.sleep(0.002)
                continue
            self.requests.append((payload, request))
            if chance.random() < 0.3:
                payload, victim = chance.choice(self.requests[-200:])
                (self.won if victim.set_invalid() else self.lost).add(payload)


@pytest.mark.slow
async def test_threads_add_and_cancel_against_a_flapping_session() -> None:
    """No request is lost, repeated, out of order, or written after its set_invalid won."""
    # The workers keep every request to the end, which is what the pool counts.
    limits = OutboxLimits(peer_requests_max=3000, pool_bytes_max=2 << 30)
    async with town(limits=limits) as there:
        there.street.break_after = sizes(3, 2_000, 60_000)
        there.street.cut()
        end_s = time.monotonic() + SECONDS
        workers = [Worker(number, there.alice, end_s) for number in range(THREADS)]
        for worker in workers:
            worker.start()
        while time.monotonic() < end_s:
            await asyncio.sleep(0.25)
            there.street.cut()
        there.street.break_after = None
        there.street.cut()
        for worker in workers:
            await asyncio.to_thread(worker.join)
            assert worker.error is None
        peer = there.alice.peer(BOB)
        await until(lambda: not peer.count, 120)
        seen = [arrival.payload for arrival in there.seen]
        assert len(seen) == len(set(seen))
        won = set[bytes]().union(*(worker.won for worker in workers))
        assert not won & set(seen)
        expected = {payload for worker in workers for payload, _ in worker.requests} - won
        assert set(seen) == expected
        for worker in workers:
            prefix = worker.requests[0][0].split()[0] + b" "
            numbers = [int(one.split()[1]) for one in seen if one.startswith(prefix)]
            assert numbers == sorted(numbers)
            assert worker.lost <= expected
            for payload, request in worker.requests:
                is_won = payload in worker.won
                assert request.state is (
                    RequestState.CANCELLED if is_won else RequestState.ACKNOWLEDGED
                )
                request.release()
        assert peer.sessions > 3
        print(f"{len(expected)} handled, {len(won)} cancelled, {peer.sessions} sessions")


async def test_the_loop_is_woken_once_however_many_are_added() -> None:
    """Q3: and add_packet returns without waiting for the loop."""
    async with town(is_met=False) as there:
        requests = [there.alice.request(b"x") for _ in range(1000)]
        peer, before = there.alice.peer(BOB), there.alice.wakes

        def add() -> None:
            for request in requests:
                peer.add_packet(request)
                request.release()

        thread = threading.Thread(target=add)
        thread.start()
        thread.join()  # the loop stands still meanwhile
        assert peer.count == 1000
        await until(lambda: there.alice.wakes > before)
        assert there.alice.wakes == before + 1


async def test_the_border_has_one_winner() -> None:
    """Q7: threads that cancel and a loop that writes never both win, nor both lose."""
    async with town(is_met=False) as there:
        for _ in range(2000):
            request = there.alice.request(b"x")
            barrier = threading.Barrier(2)
            won: list[bool] = []

            def cancel(
                request: OutboxRequest = request,
                barrier: threading.Barrier = barrier,
                won: list[bool] = won,
            ) -> None:
                barrier.wait()
                won.append(request.set_invalid())

            thread = threading.Thread(target=cancel)
            thread.start()
            barrier.wait()
            is_begun = request.begin_write()
            thread.join()
            assert won == [not is_begun]
            request.release()
