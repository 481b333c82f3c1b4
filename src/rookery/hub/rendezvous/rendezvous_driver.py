"""Rendezvous driver: runs one rendezvous with its connections, clock and published steps.

Events come from the device's connection, the server's connection, reports, other hubs' steps and
the clock; one task hands them to the core in order and carries out what it decides.
"""

import asyncio
import contextlib
import os
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence

from rookery.errors import UnreachableError
from rookery.fleet.rendezvous.events import (
    CallDevice,
    CloseDevice,
    CloseServer,
    DeviceAsked,
    DeviceReported,
    DirectDevice,
    EndWish,
    ReleaseSeat,
    RendezvousAction,
    RendezvousEvent,
    RendezvousTick,
    ReserveSeat,
    SayStep,
    StepElsewhere,
)
from rookery.fleet.rendezvous.placement import GrowthForecast, ServerChoice, ServerLoad, choose
from rookery.fleet.rendezvous.rendezvous import Rendezvous, RendezvousLimits
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.hub.clock import HubClock
from rookery.hub.rendezvous.seat_reservation import SeatReservation
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.store.hot.hot_store import HotStore
from rookery.wire.fleet import messages

EVENTS_MAX = 256
RESERVATION_S = 45.0  # until the server's own report counts the seat
LEASE_MARGIN_S = 5.0
RETRY_S = 5.0  # of retries to publish the last step while the store is away

_PAUSE_S = 0.2
_UNCHOOSING = (DeviceReported, StepElsewhere, messages.ReservedMessage, messages.ArrivedMessage)

ServerSource = Callable[[], Awaitable[list[ServerLoad]]]
WishFailed = Callable[[Wish, WishStep], None]
ForecastSource = Callable[[Sequence[ServerLoad]], GrowthForecast | None]


class RendezvousDriver:
    """`run` until it is over; the others may be called meanwhile."""

    def __init__(
        self,
        wish: Wish,
        device: str,
        *,
        identity: Identity,
        hot: HotStore,
        clock: HubClock,
        servers: ServerSource,
        limits: RendezvousLimits,
        tally: Counter[str],
        failed: WishFailed,
        ask: ForecastSource,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._core = Rendezvous(wish, device, self._choose, os.urandom, limits, self._loop.time())
        self._identity = identity
        self._hot = hot
        self._clock = clock
        self._servers = servers
        self._limits = limits
        self._tally = tally
        self._failed = failed
        self._ask = ask
        self._events: deque[RendezvousEvent] = deque()
        self._has_events = asyncio.Event()
        self._known: list[ServerLoad] = []  # as of the event that is being handled
        self._said: deque[WishStep] = deque(maxlen=EVENTS_MAX)  # our own, to know them again
        self._connections: dict[int, SealedConnection] = {}
        self._calls: dict[str, SeatReservation] = {}
        self._is_leased = False

    @property
    def wish(self) -> Wish:
        return self._core.wish

    def enqueue(self, event: RendezvousEvent) -> None:
        """Queue an event; if the queue is full it is dropped, and a deadline recovers."""
        if len(self._events) < EVENTS_MAX:
            self._events.append(event)
            self._has_events.set()

    async def lease(self) -> bool:
        """Take the lease; True if this hub drives the rendezvous, as only one does."""
        if not self._is_leased:
            self._is_leased = await self._hot.take(self._lease_key, self._lease_s)
        return self._is_leased

    def add_device(self, number: int, connection: SealedConnection) -> None:
        self._connections[number] = connection
        self.enqueue(DeviceAsked(number))

    async def run(self, *, is_ours: bool) -> None:
        """`is_ours`: the wish was made here, so that this hub also says the first step."""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch())
            if is_ours:
                await self._perform_all(self._core.start(self._clock.now()), tasks)
            while (deadline := self._core.deadline) is not None:
                await self._handle(await self._next(deadline), tasks)
            watching.cancel()
            for call in self._calls.values():
                call.close()
        for connection in self._connections.values():
            connection.close()
        await self._end_lease()

    async def _next(self, deadline: float) -> RendezvousEvent:
        """The next event, or a tick at the deadline."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while not self._events:
                    self._has_events.clear()
                    await self._has_events.wait()
        return self._events.popleft() if self._events else RendezvousTick()

    async def _handle(self, event: RendezvousEvent, tasks: asyncio.TaskGroup) -> None:
        if not isinstance(event, _UNCHOOSING):
            with contextlib.suppress(UnreachableError):  # then by what was known before
                self._known = await self._servers()
        actions = self._core.handle(event, self._loop.time(), self._clock.now())
        await self._perform_all(actions, tasks)
        if self._is_leased and self._core.wants_device:
            await self._end_lease()

    def _choose(self, failed: frozenset[str]) -> ServerChoice | None:
        fit = [server for server in self._known if server.hashname not in failed]
        return choose(fit, self._clock.now(), os.urandom, self._ask(fit))

    async def _perform_all(self, actions: list[RendezvousAction], tasks: asyncio.TaskGroup) -> None:
        for action in actions:
            await self._perform(action, tasks)

    async def _perform(self, action: RendezvousAction, tasks: asyncio.TaskGroup) -> None:
        match action:
            case CallDevice():
                pass  # the report was answered before this event came
            case SayStep(step):
                self._said.append(step)
                self._tally[step.name] += 1
                if step.name == "failed":
                    self._failed(self.wish, step)
                await self._retry(lambda: self._hot.add_step(step))
            case ReserveSeat(server, message):
                await self._reserve(server, message, tasks)
            case ReleaseSeat(server, seat):
                self._calls[seat].release()
                with contextlib.suppress(UnreachableError):  # it expires by itself
                    await self._hot.unreserve(server, seat)
            case DirectDevice(number, direction):
                self._connections[number].send(messages.encode(direction))
            case CloseDevice(number, fault):
                self._close_device(number, fault)
            case CloseServer(seat):
                self._calls.pop(seat).close()
            case EndWish():
                await self._retry(lambda: self._hot.end_wish(self.wish.id))

    async def _reserve(
        self, server: ServerLoad, message: messages.ReserveMessage, tasks: asyncio.TaskGroup
    ) -> None:
        call = SeatReservation(self._identity, server, message, self.enqueue)
        self._calls[message.seat] = call
        with contextlib.suppress(UnreachableError):  # the server counts its seats itself
            await self._hot.reserve(server.hashname, message.seat, RESERVATION_S)
            await self._hot.release(self._lease_key)
            self._is_leased = await self._hot.take(self._lease_key, self._lease_s)
        tasks.create_task(call.run())

    def _close_device(self, number: int, fault: messages.FaultMessage | None) -> None:
        connection = self._connections.pop(number)
        if fault is not None:
            connection.send(messages.encode(fault))
        connection.close()

    async def _watch(self) -> None:
        """Other hubs' steps with this wish."""
        async for step in self._hot.steps(self.wish.id):
            if step not in self._said:
                self.enqueue(StepElsewhere(step))

    async def _retry(self, work: Callable[[], Awaitable[None]]) -> None:
        give_up_at = self._loop.time() + RETRY_S
        while True:
            try:
                return await work()
            except UnreachableError:
                if self._loop.time() >= give_up_at:
                    self._tally["unsaid"] += 1
                    return
            await asyncio.sleep(_PAUSE_S)

    async def _end_lease(self) -> None:
        if self._is_leased:
            self._is_leased = False
            with contextlib.suppress(UnreachableError):
                await self._hot.release(self._lease_key)

    @property
    def _lease_key(self) -> str:
        return f"wish:{self.wish.id}"

    @property
    def _lease_s(self) -> float:
        return self._limits.reserve_s + self._limits.arrive_s + LEASE_MARGIN_S
