"""Rendezvous: how the hub brings a device, a server and a client together.

    WISHED ─▶ CALLED ─▶ RESERVING ─▶ DIRECTED ─▶ ENDED: done
                 ▲          │ ▲          │
                 └──────────┘ └──────────┘        ENDED: failed, from everywhere

    | state         | event                                | becomes   | actions            |
    |---------------|--------------------------------------|-----------|--------------------|
    | WISHED        | Reported                             | CALLED    | Call, called       |
    | CALLED        | Reported                             | CALLED    | Call               |
    | WISHED CALLED | DeviceConnected, DeviceAsked         | *attempt* | router_here        |
    | AWAY          | the same                             | *attempt* | router_here        |
    | RESERVING     | Reserved                             | DIRECTED  | Direct, directed   |
    | RESERVING     | Refused, Abandoned, ServerLost, late | *attempt* | *drop*             |
    | RESERVING     | DeviceLost                           | CALLED    | *drop*, called     |
    | DIRECTED      | Arrived                              | ENDED     | arrived, done      |
    | DIRECTED      | DeviceConnected, DeviceAsked         | *attempt* | *drop*             |
    | DIRECTED      | Refused, Abandoned, ServerLost, late | CALLED    | *drop*, called     |
    | WISHED CALLED | late                                 | ENDED     | failed             |
    | AWAY          | late                                 | ENDED     | failed             |
    | WISHED        | Elsewhere: called                    | CALLED    |                    |
    | WISHED CALLED | Elsewhere: the device is there       | AWAY      |                    |
    | any but ENDED | Elsewhere: the last step             | ENDED     | *drop*             |
    | any but ENDED | ClientGone                           | ENDED     | *drop*, failed     |
    | ENDED         | DeviceConnected, DeviceAsked         | ENDED     | CloseDevice        |

Names in small letters are steps, reported to the client; *drop* is ReleaseSeat and CloseServer. An
*attempt* chooses a server that has not failed yet, reports `reserving` and does ReserveSeat; where
there is none, or there were `attempts_max`, the rendezvous fails. After DirectDevice, and on every
transition to ENDED, open connections are closed, and ENDED does EndWish. Events that are not in the
table change nothing. AWAY: another hub has the device; this one only reports the end to the client.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import assert_never

import msgspec

from rookery.fleet.rendezvous import wish as texts
from rookery.fleet.rendezvous.attempt import SeatAttempt
from rookery.fleet.rendezvous.events import (
    CallDevice,
    ClientGone,
    CloseDevice,
    CloseServer,
    DeviceAsked,
    DeviceConnected,
    DeviceLost,
    DeviceReported,
    DirectDevice,
    EndWish,
    ReleaseSeat,
    RendezvousAction,
    RendezvousEvent,
    RendezvousTick,
    ReserveSeat,
    SayStep,
    ServerLost,
    StepElsewhere,
)
from rookery.fleet.rendezvous.placement import ServerChoice
from rookery.fleet.rendezvous.wish import Grant, Wish, WishStep, WishStepName
from rookery.identity.cipher_set import RandomBytes
from rookery.wire.fleet import messages


class RendezvousLimits(msgspec.Struct, frozen=True):
    """The defaults are for devices that report every 20 s."""

    report_s: float = 45.0  # until the device reports; one report may be lost
    connect_s: float = 45.0  # until it comes; one call may be lost, the next report brings another
    reserve_s: float = 5.0  # until the server answers
    arrive_s: float = 15.0  # until the device is there
    return_s: float = 45.0  # until a device that could not get there comes back
    seat_s: int = 60  # for the client to come, once the device is there
    attempts_max: int = 3

    @property
    def total_s(self) -> float:
        """The time after which the client has its answer."""
        attempts_s = self.attempts_max * (self.reserve_s + self.arrive_s)
        returns_s = (self.attempts_max - 1) * self.return_s
        return self.report_s + self.connect_s + attempts_s + returns_s


ServerChooser = Callable[
    [frozenset[str]], ServerChoice | None
]  # given the servers that have failed

_NO_WISH = messages.FaultMessage(messages.FaultCode.NO_WISH, texts.NO_WISH)


class RendezvousState(Enum):
    """What a rendezvous waits for."""

    WISHED = auto()  # a report
    CALLED = auto()  # the device
    RESERVING = auto()  # the server
    DIRECTED = auto()  # the device to be at the server
    AWAY = auto()  # another hub
    ENDED = auto()  # nothing


class Rendezvous:
    """One wish of a client for the device of that hashname; `at` are wall seconds, for steps."""

    def __init__(
        self,
        wish: Wish,
        device: str,
        choose: ServerChooser,
        random: RandomBytes,
        limits: RendezvousLimits,
        now: float,
    ) -> None:
        self.wish = wish
        self.state = RendezvousState.WISHED
        self._device = device
        self._choose = choose
        self._random = random
        self._limits = limits
        self._deadline = now + limits.report_s
        self._give_up_at = now + limits.total_s
        self._connection: int | None = None  # the device's, as long as it waits for DIRECT
        self._directed: int | None = None  # the one that has got it
        self._attempt: SeatAttempt | None = None
        self._attempts = 0
        self._failed: frozenset[str] = frozenset()  # servers

    @property
    def deadline(self) -> float | None:
        """When to hand in `RendezvousTick`; None once it is over."""
        return None if self.state is RendezvousState.ENDED else self._deadline

    @property
    def wants_device(self) -> bool:
        """Whether reports of the device are to be answered by a call."""
        return self.state in (RendezvousState.WISHED, RendezvousState.CALLED)

    def start(self, at: float) -> list[RendezvousAction]:
        """The first step; not at a hub that takes over what another began."""
        return [self._say("wished", texts.WISHED, at)]

    def handle(self, event: RendezvousEvent, now: float, at: float) -> list[RendezvousAction]:
        """The actions that an event leads to, in order."""
        match event:
            case DeviceConnected(connection) | DeviceAsked(connection):
                return self._device_is_here(connection, now, at)
            case _ if self.state is RendezvousState.ENDED:
                return []
            case DeviceReported():
                return self._reported(now, at)
            case DeviceLost(connection):
                return self._device_lost(connection, now, at)
            case messages.ReservedMessage(seat):
                return self._reserved(seat, now, at)
            case messages.ArrivedMessage(seat):
                return self._arrived(seat, at)
            case messages.RefusedMessage() | messages.AbandonedMessage() | ServerLost():
                return self._server_failed(event.seat, event.reason, now, at)
            case ClientGone():
                return self._fail(texts.CANCELLED, "cancelled", at)
            case StepElsewhere(step):
                return self._elsewhere(step, now)
            case RendezvousTick():
                return self._late(now, at) if now >= self._deadline else []
            case _:
                assert_never(event)

    def _reported(self, now: float, at: float) -> list[RendezvousAction]:
        if not self.wants_device:
            return []
        actions: list[RendezvousAction] = [CallDevice(self.wish.id)]
        if self.state is RendezvousState.WISHED:
            self._await(RendezvousState.CALLED, self._limits.connect_s, now)
            actions.append(self._say("called", texts.CALLED, at))
        return actions

    def _device_is_here(self, connection: int, now: float, at: float) -> list[RendezvousAction]:
        if self.state is RendezvousState.ENDED:
            return [CloseDevice(connection, _NO_WISH)]
        if connection in (self._connection, self._directed):
            return []
        actions = self._close_device(None)  # a device that comes anew has left the old connection
        self._connection = connection
        if self.state is RendezvousState.RESERVING:
            return actions
        if self._attempt is not None:  # it comes back because the server failed it
            reason = "the router could not use it"
            return actions + self._server_failed(self._attempt.seat, reason, now, at)
        actions.append(self._say("router_here", texts.DEVICE_HERE, at))
        return actions + self._reserve(None, "", now, at)

    def _device_lost(self, connection: int, now: float, at: float) -> list[RendezvousAction]:
        if connection != self._connection:
            return []
        self._connection = None
        return self._call_back(texts.CALLED_BACK, "the router's connection was lost", now, at)

    def _reserved(self, seat: str, now: float, at: float) -> list[RendezvousAction]:
        attempt = self._attempt
        if attempt is None or attempt.seat != seat or self.state is not RendezvousState.RESERVING:
            return []
        assert self._connection is not None
        direct = DirectDevice(self._connection, attempt.direct())
        self._await(RendezvousState.DIRECTED, self._limits.arrive_s, now)
        self._directed = self._connection
        server = attempt.server
        said = self._say("directed", texts.directed(server.hashname), at, server.hashname)
        return [direct, *self._close_device(None), said]

    def _arrived(self, seat: str, at: float) -> list[RendezvousAction]:
        attempt = self._attempt
        if attempt is None or attempt.seat != seat or self.state is not RendezvousState.DIRECTED:
            return []
        server = attempt.server
        self.state = RendezvousState.ENDED
        text = texts.done(server.hashname, self._limits.seat_s)
        return [
            CloseServer(seat),
            self._say("arrived", texts.arrived(server.hashname), at, server.hashname),
            self._say("done", text, at, server.hashname, grant=attempt.grant()),
            EndWish(),
        ]

    def _server_failed(
        self, seat: str, reason: str, now: float, at: float
    ) -> list[RendezvousAction]:
        attempt = self._attempt
        if attempt is None or attempt.seat != seat:
            return []
        server = attempt.server.hashname
        self._failed |= {server}
        if self._connection is None:
            return self._call_back(texts.called_back(server), reason, now, at)
        return self._drop() + self._reserve(server, reason, now, at)

    def _late(self, now: float, at: float) -> list[RendezvousAction]:
        attempt = self._attempt
        if attempt is not None and now < self._give_up_at:
            what = "did not answer" if self._connection is not None else "did not see the router"
            return self._server_failed(attempt.seat, f"it {what} in time", now, at)
        match self.state:
            case RendezvousState.WISHED:
                return self._fail(texts.NO_REPORT, "no report in time", at)
            case RendezvousState.AWAY:
                return self._fail(texts.HUB_SILENT, "no end in time", at)
            case _:
                return self._fail(texts.NO_CONNECTION, "no connection in time", at)

    def _elsewhere(self, step: WishStep, now: float) -> list[RendezvousAction]:
        if step.is_last:
            return [*self._end(), EndWish()]
        match self.state, step.name:
            case (
                RendezvousState.WISHED | RendezvousState.CALLED,
                "router_here" | "reserving" | "directed" | "arrived",
            ):
                self._await(RendezvousState.AWAY, self._limits.total_s, now)
            case RendezvousState.WISHED, "called":
                self._await(RendezvousState.CALLED, self._limits.connect_s, now)
        return []

    def _call_back(self, text: str, reason: str, now: float, at: float) -> list[RendezvousAction]:
        """The device is not here, and has nowhere to go."""
        actions = self._drop()
        if self._attempts >= self._limits.attempts_max:
            return actions + self._fail(texts.out_of_servers(self._attempts), reason, at)
        self._await(RendezvousState.CALLED, self._limits.return_s, now)
        return [*actions, self._say("called", text, at, reason=reason)]

    def _reserve(
        self, failed: str | None, reason: str, now: float, at: float
    ) -> list[RendezvousAction]:
        has_attempts = self._attempts < self._limits.attempts_max
        choice = self._choose(self._failed) if has_attempts else None
        if choice is None:
            text = texts.out_of_servers(self._attempts) if self._attempts else texts.NO_SERVER
            return self._fail(text, reason or "no server", at)
        self._attempts += 1
        self._await(RendezvousState.RESERVING, self._limits.reserve_s, now)
        self._attempt = attempt = SeatAttempt.make(
            self.wish, self._device, choice.server, self._limits.seat_s, self._random
        )
        server = choice.server.hashname
        text = texts.reserving_instead(server, failed) if failed else texts.reserving(server)
        why = f"{reason}; now {choice.reason}" if reason else choice.reason
        said = self._say("reserving", text, at, server, why)
        return [said, ReserveSeat(choice.server, attempt.reserve())]

    def _fail(self, text: str, reason: str, at: float) -> list[RendezvousAction]:
        return [*self._end(), self._say("failed", text, at, reason=reason), EndWish()]

    def _end(self) -> list[RendezvousAction]:
        actions = self._drop() + self._close_device(_NO_WISH)
        self.state = RendezvousState.ENDED
        return actions

    def _drop(self) -> list[RendezvousAction]:
        attempt, self._attempt = self._attempt, None
        if attempt is None:
            return []
        return [ReleaseSeat(attempt.server.hashname, attempt.seat), CloseServer(attempt.seat)]

    def _close_device(self, fault: messages.FaultMessage | None) -> list[RendezvousAction]:
        connection, self._connection = self._connection, None
        return [] if connection is None else [CloseDevice(connection, fault)]

    def _await(self, state: RendezvousState, seconds: float, now: float) -> None:
        self.state = state
        self._deadline = min(now + seconds, self._give_up_at)

    def _say(
        self,
        name: WishStepName,
        text: str,
        at: float,
        server: str = "",
        reason: str = "",
        grant: Grant | None = None,
    ) -> SayStep:
        return SayStep(WishStep(self.wish.id, name, text, at, server, reason, grant))
