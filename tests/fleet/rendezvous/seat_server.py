"""A server in virtual time: real seats behind lines that may break."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from rookery.errors import AuthenticationError, CongestionError
from rookery.fleet.rendezvous.events import RendezvousEvent, ServerLost
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.fleet.rendezvous.seats import FreedSeat, SeatHold, Seats
from rookery.fleet.rendezvous.wish import Grant
from rookery.identity.cipher_set import RandomBytes
from rookery.wire.fleet import messages
from tests.fleet.timeline import Timeline

LATENCY_S = 0.05
SEATS_MAX = 2
DEVICE, INTRUDER = "r" * 52, "i" * 52


class Caller(Protocol):
    """The hub at the other end of a line."""

    def hear(self, event: RendezvousEvent) -> None: ...


class Server:
    """`sent_away` is told of a seat whose device has to go."""

    def __init__(
        self, name: str, time: Timeline, chance: RandomBytes, sent_away: Callable[[str], None]
    ) -> None:
        self.name = name * 52
        self.time = time
        self.chance = chance
        self.sent_away = sent_away
        self.seats = Seats(self.name, SEATS_MAX, chance)
        self.is_alive = True
        self.is_hung = False
        self.is_full = False
        self.lines: dict[str, Caller] = {}  # one for each seat that a hub waits for
        self.holds: dict[str, SeatHold] = {}
        self.redeemed: list[str] = []  # tickets

    def load(self) -> ServerLoad:
        address = (f"{self.name[:3]}:1", "ws://", b"key", b"digest")
        return ServerLoad(self.name, *address, 100, self.seats.used, 0, 0.0, 0.0, 0.0)

    @property
    def answers(self) -> bool:
        return self.is_alive and not self.is_hung

    def reserve(self, message: messages.ReserveMessage, hub: Caller) -> None:
        if not self.is_alive:
            hub.hear(ServerLost(message.seat, "nobody listens there"))
            return
        self.lines[message.seat] = hub
        if self.is_hung:
            return
        try:
            if self.is_full:
                raise CongestionError("all seats are taken")
            self.seats.reserve(message, self.time.now)
        except CongestionError as error:
            self._tell(message.seat, messages.RefusedMessage(message.seat, str(error)))
            return
        self._tell(message.seat, messages.ReservedMessage(message.seat))
        self.time.after(message.seconds, self._expire)

    def release(self, seat: str) -> None:
        if self.answers and (freed := self.seats.release(seat)) is not None:
            self._freed(freed)

    def seat_device(self, direct: messages.DirectMessage) -> bool:
        """False: the device hears nothing, or no."""
        if not self.answers:
            return False
        arrive = messages.ArriveMessage(direct.seat, direct.ticket)
        self._refuse(partial(self.seats.seat_device, arrive, INTRUDER))
        try:
            hold = self.seats.seat_device(arrive, DEVICE, self.time.now)
        except AuthenticationError:
            return False
        self._refuse(partial(self.seats.seat_device, arrive, DEVICE))
        self.redeemed.append(direct.ticket)
        self.holds[direct.seat] = hold
        self._tell(direct.seat, messages.ArrivedMessage(direct.seat))
        self.time.after(hold.welcome.seconds or 60, self._expire)
        return True

    def seat_client(self, grant: Grant) -> bool:
        if not self.answers:
            return False
        for wrong in self.redeemed:
            self._refuse(partial(self.seats.seat_client, messages.AttendMessage(grant.seat, wrong)))
        try:
            self.seats.seat_client(messages.AttendMessage(grant.seat, grant.ticket), self.time.now)
        except AuthenticationError:
            return False
        self.redeemed.append(grant.ticket)
        return True

    def leave(self, seat: str) -> None:
        """The device is gone."""
        hold = self.holds.pop(seat, None)
        if self.is_alive and hold is not None:
            freed = self.seats.leave(hold, self.time.now)
            if freed is not None:
                self._freed(freed)

    def close(self, seat: str) -> None:
        """The hub has closed its line; what was only promised goes with it."""
        if self.lines.pop(seat, None) is not None and self.answers:
            self.seats.withdraw(seat)

    def break_lines(self) -> None:
        for seat, hub in list(self.lines.items()):
            lost = ServerLost(seat, "the connection broke")
            self.time.after(LATENCY_S, partial(hub.hear, lost))
            self.close(seat)

    def die(self) -> None:
        self.is_alive = False
        self.break_lines()
        for seat in list(self.holds):
            del self.holds[seat]
            self.sent_away(seat)
        self.seats = Seats(self.name, SEATS_MAX, self.chance)

    def revive(self) -> None:
        self.is_alive = True

    def _refuse(self, trick: Callable[[float], SeatHold]) -> None:
        try:
            trick(self.time.now)
        except AuthenticationError:
            return
        raise AssertionError("a ticket was taken from the wrong one, or twice")

    def _expire(self) -> None:
        if self.is_alive:
            for freed in self.seats.expire(self.time.now):
                self._freed(freed)

    def _freed(self, freed: FreedSeat) -> None:
        if freed.had_device:
            self.holds.pop(freed.seat, None)
            self.sent_away(freed.seat)
        if not freed.had_client:
            self._tell(freed.seat, messages.AbandonedMessage(freed.seat, freed.reason))

    def _tell(self, seat: str, event: RendezvousEvent) -> None:
        def heard() -> None:
            if self.lines.get(seat) is hub and hub is not None:
                hub.hear(event)

        hub = self.lines.get(seat)
        self.time.after(LATENCY_S, heard)
