"""Hubs, servers, a device and a client in virtual time, and faults wherever one wants them.

The hubs are real `Rendezvous`, the servers have real `Seats`; connections, the store between the
hubs, device and client are as simple as can be. Everything that happens is one event of a timeline,
so that a fault can strike before each of them. What must never happen is asserted when it would.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Literal, get_args

from rookery.fleet.rendezvous.events import (
    CallDevice,
    ClientGone,
    CloseDevice,
    CloseServer,
    DeviceAsked,
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
    StepElsewhere,
)
from rookery.fleet.rendezvous.placement import ServerChoice, choose
from rookery.fleet.rendezvous.rendezvous import Rendezvous, RendezvousLimits
from rookery.fleet.rendezvous.wish import Grant, Wish, WishStep
from rookery.wire.fleet import messages
from rookery.wire.fleet.messages import FaultCode
from rookery.wire.fleet.messages import FaultMessage as Word
from tests.fleet.rendezvous.seat_server import DEVICE, LATENCY_S, Server
from tests.fleet.timeline import Timeline

Fault = Literal[
    "server dies",
    "server hangs",
    "server restarts",
    "server fills up",
    "server line breaks",
    "router dies",
    "router reboots",
    "router line breaks",
    "router cannot reach the server",
    "client goes",
]
FAULTS: tuple[Fault, ...] = get_args(Fault)

REPORT_S = 20.0
LIMITS = RendezvousLimits()
LEASE_S = LIMITS.reserve_s + LIMITS.arrive_s + 5.0
EVENTS_MAX = 1000
WISH = Wish(7, bytes.fromhex("02fc00000001"), "ann", 0.0, "hub")


class FakeDevice:
    """Reports, comes when it is called, goes where it is sent, and comes back if that is no use."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.is_alive = True
        self.life = 0  # a reboot forgets all
        self.line: int | None = None  # its connection to a hub
        self.is_busy = False
        self.seat: str | None = None
        self.shut_out: set[str] = set()  # servers it cannot reach

    def report(self) -> None:
        if self.is_alive:
            self.world.reported()
        if self.world.is_open:
            self.world.time.after(REPORT_S, self.report)

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        life = self.life
        self.world.time.after(seconds, lambda: what() if life == self.life else None)

    def called(self) -> None:
        if self.is_alive and not self.is_busy:
            self.is_busy = True
            self.later(LATENCY_S, self.ask)

    def ask(self) -> None:
        self.line = self.world.connect_device()

    def directed(self, line: int, direct: messages.DirectMessage) -> None:
        if line == self.line:
            self.line = None
            self.later(LATENCY_S, lambda: self.arrive(direct))

    def arrive(self, direct: messages.DirectMessage) -> None:
        server = self.world.server(direct.server.hashname)
        if server.name not in self.shut_out and server.seat_device(direct):
            self.seat = direct.seat
        else:
            self.later(1.0, self.ask)

    def dismissed(self, line: int, fault: Word | None) -> None:
        """A hub has closed a connection."""
        if line == self.line and fault is not None:
            self.line = None
            self.is_busy = fault.code == FaultCode.BUSY
            if self.is_busy:
                self.later(3.0, self.ask)

    def sent_away(self, seat: str) -> None:
        """By a server, or by its death."""
        if seat == self.seat:
            self.seat = None
            self.later(1.0, self.ask)

    def lose_line(self) -> None:
        if self.line is not None:
            self.world.lose_device(self.line)
            self.line = None
            self.later(1.0, self.ask)

    def die(self) -> None:
        self.is_alive = self.is_busy = False
        self.life += 1
        if self.line is not None:
            self.world.lose_device(self.line)
        if self.seat is not None:
            for server in self.world.servers:
                server.leave(self.seat)
        self.line = self.seat = None

    def revive(self) -> None:
        self.is_alive = True


class Hub:
    """A rendezvous with its connections; made when this hub first has to do with the wish."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.is_alive = True
        self.core = Rendezvous(WISH, DEVICE, self.choose, world.chance, LIMITS, world.time.now)
        self.reserved: dict[str, str] = {}  # seat → server, until released or arrived
        self.lines: set[int] = set()  # of devices
        self.reservations = 0
        self.finished_at: float | None = None
        self._armed = 0.0

    @property
    def is_finished(self) -> bool:
        return self.finished_at is not None

    def choose(self, failed: frozenset[str]) -> ServerChoice | None:
        fit = [server.load() for server in self.world.servers if server.name not in failed]
        return choose(fit, 0.0, self.world.chance)

    def hear(self, event: RendezvousEvent) -> None:
        if self.is_alive:
            now = self.world.time.now
            self.perform(self.core.handle(event, now, now))

    def perform(self, actions: list[RendezvousAction]) -> None:
        for action in actions:
            assert not self.is_finished or isinstance(action, CloseDevice), action
            self.do(action)
        if self.core.wants_device or self.is_finished:
            self.world.end_lease(self)
        deadline, time = self.core.deadline, self.world.time
        if deadline is not None and deadline != self._armed:
            self._armed = deadline
            time.after(deadline - time.now, partial(self.hear, RendezvousTick()))

    def do(self, action: RendezvousAction) -> None:
        after, device = self.world.time.after, self.world.device
        match action:
            case CallDevice():
                after(LATENCY_S, device.called)
            case SayStep(step):
                self.world.said(step, self)
                if step.grant is not None:
                    assert self.reserved.pop(step.grant.seat) == step.grant.server
            case ReserveSeat(load, reservation):
                assert not self.reserved, "two seats at once"
                self.reservations += 1
                self.reserved[reservation.seat] = load.hashname
                after(LATENCY_S, partial(self.dial, reservation))
            case ReleaseSeat(name, seat):
                assert self.reserved.pop(seat) == name
                if seat in self.world.server(name).lines:
                    after(LATENCY_S, partial(self.world.server(name).release, seat))
            case DirectDevice(line, direction):
                if line in self.lines:  # else the news of its loss is on its way
                    after(LATENCY_S, partial(device.directed, line, direction))
            case CloseDevice(line, fault):
                self.lines.discard(line)
                after(LATENCY_S, partial(device.dismissed, line, fault))
            case CloseServer(seat):
                for server in self.world.servers:
                    if seat in server.lines:
                        after(2 * LATENCY_S, partial(server.close, seat))
            case EndWish():
                assert not self.is_finished
                self.finished_at = self.world.time.now
                self.world.is_open = False

    def dial(self, reservation: messages.ReserveMessage) -> None:
        if self.is_alive and reservation.seat in self.reserved:
            self.world.server(self.reserved[reservation.seat]).reserve(reservation, self)

    def die(self) -> None:
        self.is_alive = False
        for server in self.world.servers:
            for seat in [seat for seat, hub in server.lines.items() if hub is self]:
                server.close(seat)
        if self.world.device.line in self.lines:
            self.world.device.lose_line()


class World:
    """One wish, from the first step to long after the last; the first hub is the client's."""

    def __init__(self, servers: int = 4, hubs: int = 1, seed: int = 0) -> None:
        self.chance = random.Random(seed).randbytes
        self.time = Timeline()
        self.device = FakeDevice(self)
        self.servers = [
            Server(name, self.time, self.chance, self.device.sent_away) for name in "abcd"[:servers]
        ]
        self.steps: list[WishStep] = []
        self.granted: Grant | None = None
        self.is_open = True
        self.is_attended = False
        self.attended_after = 0  # events
        self.is_client_here = True
        self.hubs: list[Hub | None] = [Hub(self), *[None] * (hubs - 1)]
        self._lease: tuple[Hub, float] | None = None
        self._lines = count(1)
        self.home.perform(self.home.core.start(0.0))
        self.time.after(7.0, self.device.report)

    @property
    def home(self) -> Hub:
        """The hub that the client waits at."""
        assert self.hubs[0] is not None
        return self.hubs[0]

    @property
    def known_hubs(self) -> list[Hub]:
        return [hub for hub in self.hubs if hub is not None]

    def server(self, name: str) -> Server:
        return next(server for server in self.servers if server.name == name)

    def run(self, faults: Sequence[tuple[int, Fault]] = (), hub_deaths: Sequence[int] = ()) -> None:
        """Until nothing happens any more; a fault strikes before the event of its number."""
        waiting = sorted(faults, reverse=True)
        for number in count():
            while waiting and waiting[-1][0] <= number:
                self.strike(waiting.pop()[1])
            if number in hub_deaths and self._lease is not None and self._lease[0] != self.home:
                self._lease[0].die()
            if not self.time.step():
                return
            assert number < EVENTS_MAX, "it never ends"
            if not self.is_attended:
                self.attended_after = number + 2

    def any_hub(self) -> Hub:
        """Devices come to whichever hub the network leads them to."""
        place = self.chance(1)[0] % len(self.hubs)
        hub = self.hubs[place]
        if hub is None:
            hub = self.hubs[place] = Hub(self)
        return hub if hub.is_alive else self.home

    def reported(self) -> None:
        self.any_hub().hear(DeviceReported())

    def said(self, step: WishStep, by: Hub) -> None:
        is_over = bool(self.steps) and self.steps[-1].is_last
        assert not is_over or len(self.hubs) > 1, "a word after the last one"
        if is_over:  # by two hubs at once: the client heard the first
            return
        self.steps.append(step)
        for hub in self.known_hubs:
            if hub is not by and not hub.is_finished:
                self.time.after(LATENCY_S, partial(hub.hear, StepElsewhere(step)))
        if step.grant is not None:
            self.granted = step.grant
            self.time.after(1.0, self.attend)

    def attend(self) -> None:
        if self.granted is not None and self.is_client_here:
            self.is_attended = self.server(self.granted.server).seat_client(self.granted)

    def connect_device(self) -> int:
        line, hub = next(self._lines), self.any_hub()
        if not self.is_open:
            code = FaultCode.NO_WISH
        elif self._lease is None or self._lease[1] <= self.time.now or self._lease[0] is hub:
            self._lease = (hub, self.time.now + LEASE_S)
            hub.lines.add(line)
            self.time.after(0.0, partial(hub.hear, DeviceAsked(line)))
            return line
        else:
            code = FaultCode.BUSY
        self.time.after(LATENCY_S, partial(self.device.dismissed, line, Word(code, "")))
        return line

    def end_lease(self, hub: Hub) -> None:
        if self._lease is not None and self._lease[0] is hub:
            self._lease = None

    def lose_device(self, line: int) -> None:
        for hub in self.known_hubs:
            if line in hub.lines:
                hub.lines.discard(line)
                self.time.after(LATENCY_S, partial(hub.hear, DeviceLost(line)))

    def strike(self, fault: Fault) -> None:
        """At the server in question if there is one, else at any that lives."""
        if fault.startswith("server") or fault.endswith("server"):
            busy = [name for hub in self.known_hubs for name in hub.reserved.values()]
            if self.granted is not None:
                busy.append(self.granted.server)
            names = busy or [server.name for server in self.servers if server.is_alive]
            if names:
                self.strike_server(fault, self.server(names[0]))
            return
        match fault:
            case "router dies":
                self.device.die()
            case "router reboots":
                self.device.die()
                self.time.after(5.0, self.device.revive)
            case "router line breaks":
                self.device.lose_line()
            case _:
                self.is_client_here = False
                self.home.hear(ClientGone())

    def strike_server(self, fault: Fault, server: Server) -> None:
        match fault:
            case "server dies":
                server.die()
            case "server hangs":
                server.is_hung = True
            case "server restarts":
                server.die()
                self.time.after(1.0, server.revive)
            case "server fills up":
                server.is_full = True
            case "server line breaks":
                server.break_lines()
            case _:
                self.device.shut_out.add(server.name)
