"""Seat sessions: the connections and timers of all seats of a server.

    hub ───────── reserve, release ──▶ ┌──────────────┐ ──▶ reserved, arrived, abandoned ──── hub
    device ── seat, messages, leave ─▶ │ SeatSessions │ ──▶ messages, dismissal ── device, client
    client ── seat, messages, leave ─▶ └──────────────┘ ──▶ audits, ended sessions

`fleet.rendezvous.seats` decides who gets a seat, `fleet.rpc.relay` where a message goes.
"""

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
    """The record of a session that has ended."""

    seat: str
    client: str
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
        self.had_client = False
        self.timer: asyncio.TimerHandle | None = None
        self.sent_bytes = self.received_bytes = 0  # to and from the device

    def ended(self, reason: str, now: float) -> EndedSession:
        """The record of this session."""
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
    """One peer's side of a seat."""

    def __init__(self, sessions: "SeatSessions", hold: SeatHold, peer: SeatPeer) -> None:
        self._sessions = sessions
        self._hold = hold
        self._peer = peer

    @property
    def welcome(self) -> WelcomeMessage:
        return self._hold.welcome

    def receive(self, message: bytes) -> None:
        """The peer has said this."""
        self._sessions.receive(self._hold, self._peer, message)

    async def drained(self) -> None:
        """Wait until both sides have taken what was sent to them; a peer that does not is lost."""
        await self._sessions.drained(self._hold.seat)

    def finish(self) -> None:
        """The peer has said that it will not come back: without its client a seat is free."""
        self._sessions.finish(self._hold, self._peer)

    def leave(self) -> None:
        """The peer is gone; to be called once."""
        self._sessions.leave(self._hold, self._peer)


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
        self._sessions: dict[str, SeatSession] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_draining = False
        self._quiet = asyncio.Event()  # no call is open, once it drains
        self.tally: Counter[str] = Counter()  # seats by what became of them, and the relays' counts
        self.calls: Counter[int] = Counter()  # by outcome

    @property
    def open_calls(self) -> int:
        return sum(session.relay.open_calls for session in self._sessions.values())

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
        self._sessions[reserve.seat] = SeatSession(reserve, relay, hub, now)
        self.tally["reserved"] += 1
        hub(ReservedMessage(reserve.seat))
        self._arm()

    def release(self, seat: str) -> None:
        """The hub that reserved it does not need it."""
        if (freed := self.seats.release(seat)) is not None:
            self._freed(freed, FaultCode.NO_SEAT, tell_hub=False)

    def revoke(self, seat: str, reason: str) -> None:
        """A hub says that the seat is not allowed any more."""
        if (freed := self.seats.release(seat, reason)) is not None:
            self.tally["revoked"] += 1
            self._freed(freed, FaultCode.NO_SEAT)
            self._arm()

    def revoke_all(self, reason: str) -> None:
        """The hub does not know this server any more."""
        for seat in list(self._sessions):
            self.revoke(seat, reason)

    def renew(self, seats: Iterable[str], requested_at: float) -> None:
        """A hub allows these, as of the time of the request."""
        self.seats.renew(seats, requested_at)
        self._arm()

    def hub_gone(self, hub: Tell) -> None:
        """Free the seats that are only promised to this hub: no other hub knows of them."""
        for seat in [seat for seat, session in self._sessions.items() if session.hub is hub]:
            if (freed := self.seats.withdraw(seat)) is not None:
                self._freed(freed, FaultCode.NO_SEAT, tell_hub=False)

    def seat_device(self, request: ArriveMessage, device: str, peer: SeatPeer) -> PeerSession:
        """Seat a device; AuthenticationError when that is not its place."""
        hold = self.seats.seat_device(request, device, self._loop.time())
        session = self._sessions[hold.seat]
        session.device = peer
        self.tally["arrived"] += 1
        session.hub(ArrivedMessage(hold.seat))
        self._arm()
        return PeerSession(self, hold, peer)

    def seat_client(self, request: AttendMessage, peer: SeatPeer) -> PeerSession:
        """Seat a client, in place of its older connection; AuthenticationError likewise."""
        hold = self.seats.seat_client(request, self._loop.time())
        session = self._sessions[hold.seat]
        if (before := session.client) is not None:
            self._client_gone(hold.seat, session)
            before.dismiss(FaultCode.NO_SEAT, "you are here again by another connection")
        session.client = peer
        session.had_client = True
        session.relay.client_came()
        self.tally["attended"] += 1
        self._arm()
        return PeerSession(self, hold, peer)

    def receive(self, hold: SeatHold, peer: SeatPeer, message: bytes) -> None:
        session = self._sessions.get(hold.seat)
        if session is None:
            return
        now = self._loop.time()
        if peer is session.device:
            session.received_bytes += len(message)
            self._perform(hold.seat, session, session.relay.from_device(message, now))
        elif peer is session.client:
            self._perform(hold.seat, session, session.relay.from_client(message, now))

    async def drained(self, seat: str) -> None:
        session = self._sessions.get(seat)
        for peer in (session.device, session.client) if session is not None else ():
            if peer is None:
                continue
            try:
                async with asyncio.timeout(self._slow_s):
                    await peer.drained()
            except TimeoutError:
                self.tally["slow"] += 1
                peer.abort()

    def finish(self, hold: SeatHold, peer: SeatPeer) -> None:
        session = self._sessions.get(hold.seat)
        if session is None or peer is not session.client:
            return
        self._client_gone(hold.seat, session)
        if (freed := self.seats.release(hold.seat)) is not None:
            done = msgspec.structs.replace(freed, reason="the client is done")
            self._freed(done, FaultCode.NO_SEAT)

    def leave(self, hold: SeatHold, peer: SeatPeer) -> None:
        session = self._sessions.get(hold.seat)
        if session is not None and peer is session.client:
            self._client_gone(hold.seat, session)
        if session is not None and peer is session.device:
            session.device = None
        if (freed := self.seats.leave(hold, self._loop.time())) is not None:
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
        """End all sessions, as the server stops."""
        self._is_draining = True
        for seat in list(self._sessions):
            if (freed := self.seats.release(seat)) is not None:
                why = msgspec.structs.replace(freed, reason="the server stops")
                self._freed(why, FaultCode.CLOSING)
        if self._timer is not None:
            self._timer.cancel()

    def _perform(self, seat: str, session: SeatSession, actions: list[RelayAction]) -> None:
        for action in actions:
            match action:
                case SendToClient(message):
                    if session.client is not None:
                        session.client.send(message)
                case SendToDevice(message):
                    if session.device is not None:
                        session.sent_bytes += len(message)
                        session.device.send(message)
                case RelayedCall():
                    self.calls[action.code] += 1
                    self._audited(seat, action)
        if self._is_draining and not self.open_calls:
            self._quiet.set()
        if session.timer is None and (deadline := session.relay.deadline) is not None:
            session.timer = self._loop.call_at(deadline, self._tick, seat, session)

    def _tick(self, seat: str, session: SeatSession) -> None:
        session.timer = None
        self._perform(seat, session, session.relay.tick(self._loop.time()))

    def _client_gone(self, seat: str, session: SeatSession) -> None:
        session.client = None
        self._perform(seat, session, session.relay.client_lost(self._loop.time()))

    def _freed(self, freed: FreedSeat, code: FaultCode, *, tell_hub: bool = True) -> None:
        session = self._sessions.pop(freed.seat)
        now = self._loop.time()
        self._perform(freed.seat, session, session.relay.device_lost(now))
        if session.timer is not None:
            session.timer.cancel()
        self.tally["freed"] += 1
        self.tally += Counter({f"relay {name}": n for name, n in session.relay.counters.items()})
        if tell_hub and not session.had_client:
            session.hub(AbandonedMessage(freed.seat, freed.reason))
        for peer in (session.client, session.device):
            if peer is not None:
                peer.dismiss(code, freed.reason)
        self._ended(session.ended(freed.reason, now))

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        deadline = self.seats.deadline
        self._timer = None if deadline is None else self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        for freed in self.seats.expire(self._loop.time()):
            self._freed(freed, FaultCode.NO_SEAT)
        self._arm()
