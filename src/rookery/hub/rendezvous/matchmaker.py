"""The matchmaker: one rendezvous for each wish that concerns this hub.

A wish is made at one hub, the device may report to another and connect to a third. The hub that has
the device drives the rendezvous, under a lease in the hot store; the others only watch its steps.
"""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Coroutine

from rookery.errors import DecodeError, UnreachableError
from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous import wish as texts
from rookery.fleet.rendezvous.events import ClientGone, DeviceAsked, DeviceLost, DeviceReported
from rookery.fleet.rendezvous.rendezvous import RendezvousLimits
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.hub.clock import HubClock
from rookery.hub.rendezvous.rendezvous_driver import (
    ForecastSource,
    RendezvousDriver,
    ServerSource,
    WishFailed,
)
from rookery.hub.rendezvous.server_list import check_sealing
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.store.hot.hot_store import HotStore
from rookery.wire.fleet import messages
from rookery.wire.fleet.messages import FaultCode, FaultMessage

RENDEZVOUS_MAX = 10_000
CALLED_S = 300.0  # in which a call is published once, by any hub

Note = Callable[[SecurityEvent], None]
Expect = Callable[[str, float], None]  # the listener expects an address, for so many seconds


class Matchmaker:
    """The listener calls `serve_device`, the processing of reports `called`."""

    def __init__(
        self,
        identity: Identity,
        hot: HotStore,
        clock: HubClock,
        servers: ServerSource,
        note: Note,
        failed: WishFailed,
        ask: ForecastSource,
        limits: RendezvousLimits,
        expect: Expect,
    ) -> None:
        self._identity = identity
        self._hot = hot
        self._clock = clock
        self._servers = servers
        self._note = note
        self._failed = failed
        self._ask = ask
        self._limits = limits
        self._expect = expect
        self._loop = asyncio.get_running_loop()
        self._rendezvous: dict[int, RendezvousDriver] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self.tally: Counter[str] = Counter()  # steps by name, and what went wrong

    @property
    def rendezvous_count(self) -> int:
        return len(self._rendezvous)

    def begin(self, wish: Wish, entry: FleetEntry) -> bool:
        """A wish that was made here; False when there are too many."""
        if len(self._rendezvous) >= RENDEZVOUS_MAX:
            return False
        self._expect(entry.address, self._limits.total_s)
        self._open(wish, entry.hashname, is_ours=True)
        return True

    def called(self, wish: int) -> None:
        """A report of the device was answered by a call."""
        if (rendezvous := self._rendezvous.get(wish)) is not None:
            rendezvous.enqueue(DeviceReported())
        elif len(self._tasks) < RENDEZVOUS_MAX:
            self._own(self._say_called(wish))

    async def cancel(self, wish: Wish) -> None:
        """Its client no longer waits."""
        if (rendezvous := self._rendezvous.get(wish.id)) is not None:
            rendezvous.enqueue(ClientGone())
            return
        step = WishStep(wish.id, "failed", texts.CANCELLED, self._clock.now(), reason="cancelled")
        await self._hot.add_step(step)  # the hub with the device watches, and ends it
        await self._hot.end_wish(wish.id)

    async def serve_device(
        self, connection: SealedConnection, ask: messages.AskMessage
    ) -> FaultMessage | None:
        """Serve a device that asks where to go; returns when its connection may be closed."""
        wish = await self._hot.wish(ask.wish)
        if wish is None:
            return FaultMessage(FaultCode.NO_WISH, texts.NO_WISH)
        (entry,) = await self._hot.entries([wish.mac])
        if entry is None or entry.hashname != connection.peer:
            address = f"{connection.address[0]}:{connection.address[1]}"
            detail = f"{connection.peer} asked for a wish for another's router"
            self._note(SecurityEvent("foreign key", wish.mac, address, detail))
            return FaultMessage(FaultCode.DENIED, "this wish is for another device")
        check_sealing(entry, connection.csid)
        rendezvous = self._rendezvous.get(wish.id) or self._take_over(wish, entry)
        if rendezvous is None or not await rendezvous.lease():
            return FaultMessage(FaultCode.BUSY, "another hub sees to it")
        if self._rendezvous.get(wish.id) is not rendezvous:  # it has just ended
            return FaultMessage(FaultCode.NO_WISH, texts.NO_WISH)
        await self._stay(rendezvous, connection, wish.id)
        return None

    async def close(self) -> None:
        """End every rendezvous, and tell their clients."""
        for rendezvous in self._rendezvous.values():
            rendezvous.enqueue(ClientGone())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                while self._rendezvous:
                    await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _stay(
        self, rendezvous: RendezvousDriver, connection: SealedConnection, wish: int
    ) -> None:
        """Serve until the rendezvous closes the connection."""
        number = next(self._numbers)
        rendezvous.add_device(number, connection)
        try:
            while (ask := await _ask(connection)) is not None:
                if ask.wish != wish:
                    raise DecodeError("one connection is for one wish")
                rendezvous.enqueue(DeviceAsked(number))
        finally:
            rendezvous.enqueue(DeviceLost(number))

    def _take_over(self, wish: Wish, entry: FleetEntry) -> RendezvousDriver | None:
        if len(self._rendezvous) >= RENDEZVOUS_MAX:
            return None
        return self._open(wish, entry.hashname, is_ours=False)

    def _open(self, wish: Wish, device: str, *, is_ours: bool) -> RendezvousDriver:
        rendezvous = self._rendezvous[wish.id] = RendezvousDriver(
            wish,
            device,
            identity=self._identity,
            hot=self._hot,
            clock=self._clock,
            servers=self._servers,
            limits=self._limits,
            tally=self.tally,
            failed=self._failed,
            ask=self._ask,
        )
        self._own(self._hold(rendezvous, is_ours=is_ours))
        return rendezvous

    async def _hold(self, rendezvous: RendezvousDriver, *, is_ours: bool) -> None:
        try:
            await rendezvous.run(is_ours=is_ours)
        finally:
            del self._rendezvous[rendezvous.wish.id]

    async def _say_called(self, wish: int) -> None:
        """Publish the call of a device for the wish of another hub."""
        with contextlib.suppress(UnreachableError):
            known = await self._hot.wish(wish)
            (entry,) = await self._hot.entries([known.mac]) if known is not None else [None]
            if entry is not None:
                self._expect(entry.address, self._limits.total_s)
            if await self._hot.take(f"called:{wish}", CALLED_S):
                await self._hot.add_step(WishStep(wish, "called", texts.CALLED, self._clock.now()))

    def _own(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _ask(connection: SealedConnection) -> messages.AskMessage | None:
    """The device's next question; None once it has gone."""
    tlv = await connection.receive()
    if tlv is None:
        return None
    message = messages.decode(tlv)
    if not isinstance(message, messages.AskMessage):
        raise DecodeError(f"a device does not say {type(message).__name__} to a hub")
    return message
