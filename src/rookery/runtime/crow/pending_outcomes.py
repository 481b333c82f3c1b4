"""Futures of the tasks that wait for a message's outcome, or for room to send one."""

import asyncio
from collections import deque
from collections.abc import Callable

from rookery.crow.packet_events import Ticket
from rookery.runtime.crow.outcome import CLOSED, DELIVERED, DeliveryStatus, MessageOutcome


class PendingOutcomes:
    """The waiting tasks of one tower."""

    def __init__(self, room: Callable[[bytes], int], *, ample: int = 1) -> None:
        """`room` says how many messages to an address would be accepted now.

        Waiting tasks are woken once there is room for `ample` messages: waking them earlier would
        wake a busy sender for every few messages.
        """
        self._loop = asyncio.get_running_loop()
        self._room = room
        self._ample = ample
        self._expected: dict[Ticket, asyncio.Future[MessageOutcome]] = {}
        self._queues: dict[bytes, deque[asyncio.Future[None]]] = {}  # for room, by address
        self._is_closed = False

    def expect(self, ticket: Ticket) -> asyncio.Future[MessageOutcome]:
        """A future of the outcome; to be made before the core can report it."""
        future: asyncio.Future[MessageOutcome] = self._loop.create_future()
        if self._is_closed:
            future.set_result(CLOSED)
        else:
            self._expected[ticket] = future
        return future

    def forget(self, ticket: Ticket) -> None:
        self._expected.pop(ticket, None)

    def tell(self, ticket: Ticket, failure: str | None) -> None:
        future = self._expected.pop(ticket, None)
        if future is not None and not future.done():
            future.set_result(
                DELIVERED
                if failure is None
                else MessageOutcome(DeliveryStatus.UNDELIVERED, failure)
            )

    def has_room(self, address: bytes) -> bool:
        """True if a message can be sent at once, which is the usual case."""
        return address not in self._queues and self._room(address) > 0

    async def wait_for_room(self, address: bytes) -> None:
        """Wait until one more message to this address would be accepted; in order of arrival."""
        while not self.has_room(address):
            if self._is_closed:
                return
            future: asyncio.Future[None] = self._loop.create_future()
            self._queues.setdefault(address, deque()).append(future)
            try:
                await future
            except asyncio.CancelledError:
                self.call_up()  # another task may use the room
                raise
            if self._room(address) > 0:
                return

    def close(self) -> None:
        """Resolve everything that is waited for."""
        self._is_closed = True
        for future in self._expected.values():
            if not future.done():
                future.set_result(CLOSED)
        self._expected.clear()
        for queue in self._queues.values():
            for waiter in queue:
                if not waiter.done():
                    waiter.set_result(None)
        self._queues.clear()

    @property
    def is_room_awaited(self) -> bool:
        return bool(self._queues)

    def call_up(self) -> None:
        """Wake tasks if there is room again, after messages had outcomes."""
        for address, queue in list(self._queues.items()):
            room = self._room(address)
            if room < self._ample:
                continue
            while queue and room > 0:
                waiter = queue.popleft()
                if not waiter.done():
                    waiter.set_result(None)
                    room -= 1
            if not queue:
                del self._queues[address]
