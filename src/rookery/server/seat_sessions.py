"""Table: what belongs to one seat while it is taken, and what remains to be said of it after."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

import msgspec

from rookery.errors import CongestionError
from rookery.fleet.rendezvous.seats import FreedSeat, SeatHold, Seats
from rookery.fleet.rpc.relay import (
    RelayAction,
    RelayedCall,
    RelayLimits,
    RpcRelay,
    SendToClient,
    SendToDevice,
)
from rookery.wire.fleet.mac import mac_text
from rookery.wire.fleet.messages import (
    AbandonedMessage,
    ArrivedMessage,
    ArriveMessage,
    AttendMessage,
    FaultCode,
    HoldMessage,
    Message,
    ReservedMessage,
    ReserveMessage,
    WelcomeMessage,
)

Tell = Callable[[Message], None]


class SeatPeer(Protocol):
    """The connection of a device or a client."""

    def send(self, message: bytes) -> None:
        """One JSON-RPC message; never blocks."""

    async def drained(self) -> None:
        """Wait until it has taken most of what was sent, or is gone."""

    def dismiss(self, code: FaultCode, text: str) -> None:
        """Tell it why, and close."""

    def abort(self) -> None:
        """Close at once, whatever it has not taken."""


class EndedSession(msgspec.Struct, frozen=True):
    """A seat is free again."""

    seat: str
    who: str
    device: str  # MAC
    seconds: float  # since it was reserved
    reason: str
    sent_bytes: int  # to the device
    received_bytes: int


class SeatSession:
    """A relay, up to two peers, and the hub that reserved the seat."""

    def __init__(self, reserve: ReserveMessage, relay: RpcRelay, hub: Tell, now: float) -> None:
        self._reserve = reserve
        self._opened_at = now
        self.relay = relay
        self.hub = hub
        self.device: SeatPeer | None = None
        self.client: SeatPeer | None = None
        self.was_attended = False
        self.timer: asyncio.TimerHandle | None = None
        self.sent_bytes = self.received_bytes = 0  # to and from the device

    def ended(self, reason: str, now: float) -> EndedSession:
        """The seat is free again."""
        reserve = self._reserve
        return EndedSession(
            reserve.seat,
            reserve.client,
            mac_text(reserve.mac),
            now - self._opened_at,
            reason,
            self.sent_bytes,
            self.received_bytes,
        )


Audited = Callable[[str, RelayedCall], None]  # the seat, and what happened there


class PeerSession:
    """One peer's hold of its side of a seat."""

    def __init__(self, sessions: "SeatSessions", sitting: SeatHold, peer: SeatPeer) -> None:
        self._sessions = sessions
        self._sitting = sitting
        self._peer = peer

    @property
    def welcome(self) -> WelcomeMessage:
        return self._sitting.welcome

    def receive(self, message: bytes) -> None:
        """The peer has said this."""
        self._sessions.receive(self._sitting, self._peer, message)

    async def drained(self) -> None:
        """Wait until both sides have taken what was sent to them; a peer that does not is lost."""
        await self._sessions.drained(self._sitting.seat)

    def finish(self) -> None:
        """The peer has said that it will not come back: without its client a seat is free."""
        self._sessions.finish(self._sitting, self._peer)

    def leave(self) -> None:
        """The peer is gone; to be called once."""
        self._sessions.leave(self._sitting, self._peer)


class SeatSessions:
    """All seats of a server; everything here happens on its loop."""

    def __init__(
        self,
        seats: Seats,
        audited: Audited,
        ended: Callable[[EndedSession], None],
        limits: RelayLimits,
        slow_s: float = 30.0,
    ) -> None:
        self.seats = seats
        self._audited = audited
        self._ended = ended
        self._limits = limits
        self._slow_s = slow_s
        self._loop = asyncio.get_running_loop()
        self._tables: dict[str, SeatSession] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_draining = False
        self._quiet = asyncio.Event()  # no call is open, once it drains
        self.tally: Counter[str] = Counter()  # seats by what became of them, and the relays' counts
        self.calls: Counter[int] = Counter()  # by outcome

    @property
    def open_calls(self) -> int:
        return sum(table.relay.open_calls for table in self._tables.values())

    @property
    def held(self) -> list[HoldMessage]:
        return self.seats.held

    @property
    def is_draining(self) -> bool:
        return self._is_draining

    def reserve(self, reserve: ReserveMessage, hub: Tell) -> None:
        """Keep a seat and say so; CongestionError when there is none."""
        if self._is_draining:
            raise CongestionError("this server is about to stop")
        now = self._loop.time()
        self.seats.reserve(reserve, now)
        relay = RpcRelay(reserve.client, mac_text(reserve.mac), self._limits)
        self._tables[reserve.seat] = SeatSession(reserve, relay, hub, now)
        self.tally["reserved"] += 1
        hub(ReservedMessage(reserve.seat))
        self._arm()

    def release(self, seat: str) -> None:
        """The hub that reserved it does not need it."""
        if (freed := self.seats.release(seat)) is not None:
            self._freed(freed, FaultCode.NO_SEAT, is_told=False)

    def revoke(self, seat: str, reason: str) -> None:
        """A hub says that the seat is not allowed any more."""
        if (freed := self.seats.release(seat, reason)) is not None:
            self.tally["revoked"] += 1
            self._freed(freed, FaultCode.NO_SEAT)
            self._arm()

    def revoke_all(self, reason: str) -> None:
        """The hub does not know this server any more."""
        for seat in list(self._tables):
            self.revoke(seat, reason)

    def renew(self, seats: Iterable[str], asked_at: float) -> None:
        """A hub that was asked then says that these are allowed."""
        self.seats.renew(seats, asked_at)
        self._arm()

    def hub_gone(self, hub: Tell) -> None:
        """What was only promised to it, nobody else knows of."""
        for seat in [seat for seat, table in self._tables.items() if table.hub is hub]:
            if (freed := self.seats.withdraw(seat)) is not None:
                self._freed(freed, FaultCode.NO_SEAT, is_told=False)

    def arrive(self, arrive: ArriveMessage, device: str, peer: SeatPeer) -> PeerSession:
        """Seat a device; AuthenticationError when that is not its place."""
        sitting = self.seats.arrive(arrive, device, self._loop.time())
        table = self._tables[sitting.seat]
        table.device = peer
        self.tally["arrived"] += 1
        table.hub(ArrivedMessage(sitting.seat))
        self._arm()
        return PeerSession(self, sitting, peer)

    def attend(self, attend: AttendMessage, peer: SeatPeer) -> PeerSession:
        """Seat a client, in place of its older connection; AuthenticationError likewise."""
        sitting = self.seats.attend(attend, self._loop.time())
        table = self._tables[sitting.seat]
        if (before := table.client) is not None:
            self._client_gone(sitting.seat, table)
            before.dismiss(FaultCode.NO_SEAT, "you are here again by another connection")
        table.client = peer
        table.was_attended = True
        table.relay.client_came()
        self.tally["attended"] += 1
        self._arm()
        return PeerSession(self, sitting, peer)

    def receive(self, sitting: SeatHold, peer: SeatPeer, message: bytes) -> None:
        table = self._tables.get(sitting.seat)
        if table is None:
            return
        now = self._loop.time()
        if peer is table.device:
            table.received_bytes += len(message)
            self._perform(sitting.seat, table, table.relay.from_device(message, now))
        elif peer is table.client:
            self._perform(sitting.seat, table, table.relay.from_client(message, now))

    async def drained(self, seat: str) -> None:
        table = self._tables.get(seat)
        for peer in (table.device, table.client) if table is not None else ():
            if peer is None:
                continue
            try:
                async with asyncio.timeout(self._slow_s):
                    await peer.drained()
            except TimeoutError:
                self.tally["slow"] += 1
                peer.abort()

    def finish(self, sitting: SeatHold, peer: SeatPeer) -> None:
        table = self._tables.get(sitting.seat)
        if table is None or peer is not table.client:
            return
        self._client_gone(sitting.seat, table)
        if (freed := self.seats.release(sitting.seat)) is not None:
            done = msgspec.structs.replace(freed, reason="the client is done")
            self._freed(done, FaultCode.NO_SEAT)

    def leave(self, sitting: SeatHold, peer: SeatPeer) -> None:
        table = self._tables.get(sitting.seat)
        if table is not None and peer is table.client:
            self._client_gone(sitting.seat, table)
        if table is not None and peer is table.device:
            table.device = None
        if (freed := self.seats.leave(sitting, self._loop.time())) is not None:
            self._freed(freed, FaultCode.NO_SEAT)
        self._arm()

    async def drain(self, seconds: float) -> None:
        """No new seats from now on; open calls have this long to be answered."""
        self._is_draining = True
        if self.open_calls:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._quiet.wait()

    def close(self) -> None:
        """Tell everybody that the server stops."""
        self._is_draining = True
        for seat in list(self._tables):
            if (freed := self.seats.release(seat)) is not None:
                why = msgspec.structs.replace(freed, reason="the server stops")
                self._freed(why, FaultCode.CLOSING)
        if self._timer is not None:
            self._timer.cancel()

    def _perform(self, seat: str, table: SeatSession, actions: list[RelayAction]) -> None:
        for action in actions:
            match action:
                case SendToClient(message):
                    if table.client is not None:
                        table.client.send(message)
                case SendToDevice(message):
                    if table.device is not None:
                        table.sent_bytes += len(message)
                        table.device.send(message)
                case RelayedCall():
                    self.calls[action.code] += 1
                    self._audited(seat, action)
        if self._is_draining and not self.open_calls:
            self._quiet.set()
        if table.timer is None and (deadline := table.relay.deadline) is not None:
            table.timer = self._loop.call_at(deadline, self._tick, seat, table)

    def _tick(self, seat: str, table: SeatSession) -> None:
        table.timer = None
        self._perform(seat, table, table.relay.tick(self._loop.time()))

    def _client_gone(self, seat: str, table: SeatSession) -> None:
        table.client = None
        self._perform(seat, table, table.relay.client_lost(self._loop.time()))

    def _freed(self, freed: FreedSeat, code: FaultCode, *, is_told: bool = True) -> None:
        table = self._tables.pop(freed.seat)
        now = self._loop.time()
        self._perform(freed.seat, table, table.relay.device_lost(now))
        if table.timer is not None:
            table.timer.cancel()
        self.tally["freed"] += 1
        self.tally += Counter({f"relay {name}": n for name, n in table.relay.counters.items()})
        if is_told and not table.was_attended:
            table.hub(AbandonedMessage(freed.seat, freed.reason))
        for peer in (table.client, table.device):
            if peer is not None:
                peer.dismiss(code, freed.reason)
        self._ended(table.ended(freed.reason, now))

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        deadline = self.seats.deadline
        self._timer = None if deadline is None else self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        for freed in self.seats.expire(self._loop.time()):
            self._freed(freed, FaultCode.NO_SEAT)
        self._arm()
