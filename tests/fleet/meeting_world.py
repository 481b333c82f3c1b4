"""A hub, servers, a router and a client in virtual time, and faults wherever one wants them.

The hub is a real `Rendezvous`, the servers have real `Seats`; connections, router and client are as
simple as can be. Everything that happens is one event of a timeline, so that a fault can
strike before each of them. What must never happen is asserted when it would.
"""

import heapq
import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Literal, get_args

from rookery.errors import AuthenticationError, CongestionError
from rookery.fleet.placement import Choice, ServerLoad, choose
from rookery.fleet.rendezvous import Rendezvous
from rookery.fleet.rendezvous_events import (
    Action,
    Call,
    ClientGone,
    CloseRouter,
    CloseServer,
    Direct,
    Event,
    Finish,
    Release,
    Reported,
    Reserve,
    RouterAsked,
    RouterLost,
    Say,
    ServerLost,
    Tick,
)
from rookery.fleet.rendezvous_limits import RendezvousLimits
from rookery.fleet.seats import Freed, Seats, Sitting
from rookery.fleet.wish import Grant, Step, Wish
from rookery.wire import fleet_messages as messages

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

MAC = bytes.fromhex("02fc00000001")
ROUTER, INTRUDER = "r" * 52, "i" * 52
LATENCY_S = 0.05
REPORT_S = 20.0
LIMITS = RendezvousLimits()
EVENTS_MAX = 1000


class Timeline:
    """What is to happen, in order of time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now + seconds, next(self._order), what))

    def step(self) -> bool:
        if not self._due:
            return False
        self.now, _, what = heapq.heappop(self._due)
        what()
        return True


class Server:
    """Real seats behind lines that may break."""

    def __init__(self, world: "World", name: str, seats_max: int) -> None:
        self.world = world
        self.name = name * 52
        self.seats_max = seats_max
        self.seats = Seats(self.name, seats_max, world.chance)
        self.is_alive = True
        self.is_hung = False
        self.is_full = False
        self.lines: set[str] = set()  # seats that a hub has a connection for
        self.sitting: dict[str, Sitting] = {}

    def load(self) -> ServerLoad:
        address = (f"{self.name[:3]}:1", "ws://", b"key", b"digest")
        return ServerLoad(self.name, *address, 100, self.seats.used, 0, 0.0, 0.0, 0.0)

    @property
    def answers(self) -> bool:
        return self.is_alive and not self.is_hung

    def reserve(self, message: messages.Reserve) -> None:
        if message.seat not in self.world.reserved:
            return  # the hub has changed its mind before it was through
        if not self.is_alive:
            self.world.hear(ServerLost(message.seat, "nobody listens there"))
            return
        self.lines.add(message.seat)
        if self.is_hung:
            return
        try:
            if self.is_full:
                raise CongestionError("all seats are taken")
            self.seats.reserve(message, self.world.time.now)
        except CongestionError as error:
            self.tell(message.seat, messages.Refused(message.seat, str(error)))
            return
        self.tell(message.seat, messages.Reserved(message.seat))
        self.world.time.after(message.seconds, self.expire)

    def release(self, seat: str) -> None:
        if self.answers and (freed := self.seats.release(seat)) is not None:
            self.freed(freed)

    def arrive(self, direct: messages.Direct) -> Sitting | None:
        """None: the router hears nothing, or no."""
        if not self.answers:
            return None
        arrive = messages.Arrive(direct.seat, direct.ticket)
        self.refuse(lambda now: self.seats.arrive(arrive, INTRUDER, now))
        try:
            sitting = self.seats.arrive(arrive, ROUTER, self.world.time.now)
        except AuthenticationError:
            return None
        self.refuse(lambda now: self.seats.arrive(arrive, ROUTER, now))
        self.world.redeemed.append(direct.ticket)
        self.sitting[direct.seat] = sitting
        self.tell(direct.seat, messages.Arrived(direct.seat))
        self.world.time.after(LIMITS.seat_s, self.expire)
        return sitting

    def attend(self, grant: Grant) -> bool:
        if not self.answers:
            return False
        attend = messages.Attend(grant.seat, grant.ticket)
        for wrong in self.world.redeemed:
            self.refuse(partial(self.seats.attend, messages.Attend(grant.seat, wrong)))
        try:
            self.seats.attend(attend, self.world.time.now)
        except AuthenticationError:
            return False
        self.world.redeemed.append(grant.ticket)
        return True

    def refuse(self, trick: Callable[[float], Sitting]) -> None:
        try:
            trick(self.world.time.now)
        except AuthenticationError:
            return
        raise AssertionError("a ticket was taken from the wrong one, or twice")

    def leave(self, seat: str) -> None:
        sitting = self.sitting.pop(seat, None)
        if self.is_alive and sitting is not None:
            freed = self.seats.leave(sitting, self.world.time.now)
            if freed is not None:
                self.freed(freed)

    def expire(self) -> None:
        if self.is_alive:
            for freed in self.seats.expire(self.world.time.now):
                self.freed(freed)

    def freed(self, freed: Freed) -> None:
        if freed.had_router:
            self.sitting.pop(freed.seat, None)
            self.world.router.sent_away(freed.seat)
        if not freed.had_client:
            self.tell(freed.seat, messages.Abandoned(freed.seat, freed.reason))

    def tell(self, seat: str, event: Event) -> None:
        def heard() -> None:
            if seat in self.lines:
                self.world.hear(event)

        if seat in self.lines:
            self.world.time.after(LATENCY_S, heard)

    def break_lines(self) -> None:
        broken, self.lines = self.lines, set()
        for seat in broken:
            lost = ServerLost(seat, "the connection broke")
            self.world.time.after(LATENCY_S, partial(self.world.hear, lost))
            if self.is_alive:
                self.seats.withdraw(seat)

    def die(self) -> None:
        self.is_alive = False
        self.break_lines()
        for seat in list(self.sitting):
            del self.sitting[seat]
            self.world.router.sent_away(seat)
        self.seats = Seats(self.name, self.seats_max, self.world.chance)


class Router:
    """Reports, comes when it is called, goes where it is sent, and comes back if that is no use."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.is_alive = True
        self.life = 0  # a reboot forgets all
        self.line: int | None = None  # its connection to the hub
        self.is_busy = False
        self.seat: str | None = None
        self.is_shut_out: set[str] = set()  # servers it cannot reach
        world.time.after(7.0, self.report)

    def report(self) -> None:
        if self.is_alive:
            self.world.hear(Reported())
        if self.world.finished_at is None:
            self.world.time.after(REPORT_S, self.report)

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        life = self.life
        self.world.time.after(seconds, lambda: what() if life == self.life else None)

    def called(self) -> None:
        if self.is_alive and not self.is_busy:
            self.is_busy = True
            self.later(LATENCY_S, self.ask)

    def ask(self) -> None:
        self.line = self.world.connect_router()
        self.world.hear(RouterAsked(self.line))

    def directed(self, line: int, direct: messages.Direct) -> None:
        if line != self.line:
            return
        self.line = None
        self.later(LATENCY_S, lambda: self.arrive(direct))

    def arrive(self, direct: messages.Direct) -> None:
        server = self.world.server(direct.server.hashname)
        if server.name in self.is_shut_out or server.arrive(direct) is None:
            self.later(1.0, self.ask)
        else:
            self.seat = direct.seat

    def dismissed(self, line: int, fault: messages.Fault | None) -> None:
        """The hub has closed a connection."""
        if line == self.line:
            self.line = None
            self.is_busy = fault is None

    def sent_away(self, seat: str) -> None:
        """By a server, or by its death."""
        if seat == self.seat:
            self.seat = None
            self.later(1.0, self.ask)

    def break_line(self) -> None:
        if self.line is not None:
            self.world.lose_router(self.line)
            self.line = None
            self.later(1.0, self.ask)

    def die(self) -> None:
        self.is_alive = False
        self.life += 1
        if self.line is not None:
            self.world.lose_router(self.line)
        if self.seat is not None:
            for server in self.world.servers:
                server.leave(self.seat)
        self.line = self.seat = None
        self.is_busy = False

    def reboot(self) -> None:
        self.die()
        self.world.time.after(5.0, lambda: setattr(self, "is_alive", True))


class World:
    """One wish, from the first step to long after the last."""

    def __init__(self, servers: int = 4, seats_max: int = 2, seed: int = 0) -> None:
        self.chance = random.Random(seed).randbytes
        self.time = Timeline()
        self.servers = [Server(self, name, seats_max) for name in "abcdef"[:servers]]
        self.router = Router(self)
        wish = Wish(7, MAC, "ann", 0.0, "hub")
        self.hub = Rendezvous(wish, ROUTER, self.choose, self.chance, LIMITS, 0.0)
        self.steps: list[Step] = []
        self.reserved: dict[str, str] = {}  # seat → server, until released or arrived
        self.router_lines: set[int] = set()
        self.redeemed: list[str] = []  # tickets
        self.granted: Grant | None = None
        self.is_attended = False
        self.attended_after = 0  # events
        self.is_client_here = True
        self.finished_at: float | None = None
        self.reservations = 0
        self._lines = count(1)
        self._armed = 0.0
        self.perform(self.hub.start(0.0))

    def choose(self, failed: frozenset[str]) -> Choice | None:
        fit = [server.load() for server in self.servers if server.name not in failed]
        return choose(fit, 0.0, self.chance)

    def server(self, name: str) -> Server:
        return next(server for server in self.servers if server.name == name)

    def run(self, faults: Sequence[tuple[int, Fault]] = ()) -> None:
        """Until nothing happens any more; a fault strikes before the event of its number."""
        waiting = sorted(faults, reverse=True)
        for number in count():
            while waiting and waiting[-1][0] <= number:
                self.strike(waiting.pop()[1])
            if not self.time.step():
                return
            assert number < EVENTS_MAX, "it never ends"
            if not self.is_attended:
                self.attended_after = number + 2

    def hear(self, event: Event) -> None:
        self.perform(self.hub.handle(event, self.time.now, self.time.now))

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            assert self.finished_at is None or isinstance(action, CloseRouter), action
            self.do(action)
        deadline = self.hub.deadline
        if deadline is not None and deadline != self._armed:
            self._armed = deadline
            self.time.after(deadline - self.time.now, lambda: self.hear(Tick()))

    def do(self, action: Action) -> None:
        match action:
            case Call():
                self.time.after(LATENCY_S, self.router.called)
            case Say(step):
                self.said(step)
            case Reserve(load, reservation):
                assert not self.reserved, "two seats at once"
                self.reservations += 1
                self.reserved[reservation.seat] = load.hashname
                self.time.after(LATENCY_S, partial(self.server(load.hashname).reserve, reservation))
            case Release(name, seat):
                assert self.reserved.pop(seat) == name
                if seat in self.server(name).lines:
                    self.time.after(LATENCY_S, partial(self.server(name).release, seat))
            case Direct(line, direction):
                if line in self.router_lines:  # else the news of its loss is on its way
                    self.time.after(LATENCY_S, partial(self.router.directed, line, direction))
            case CloseRouter(line, fault):
                self.router_lines.discard(line)
                self.time.after(LATENCY_S, partial(self.router.dismissed, line, fault))
            case CloseServer(seat):
                for each in self.servers:
                    each.lines.discard(seat)
            case Finish():
                assert self.finished_at is None
                self.finished_at = self.time.now

    def said(self, step: Step) -> None:
        assert not self.steps or not self.steps[-1].is_last, "a word after the last one"
        self.steps.append(step)
        if step.name != "done":
            return
        assert step.grant is not None
        assert self.reserved.pop(step.grant.seat) == step.grant.server
        self.granted = step.grant
        self.time.after(1.0, self.attend)

    def attend(self) -> None:
        if self.granted is not None and self.is_client_here:
            self.is_attended = self.server(self.granted.server).attend(self.granted)

    def connect_router(self) -> int:
        line = next(self._lines)
        self.router_lines.add(line)
        return line

    def lose_router(self, line: int) -> None:
        if line in self.router_lines:
            self.router_lines.discard(line)
            self.time.after(LATENCY_S, lambda: self.hear(RouterLost(line)))

    def strike(self, fault: Fault) -> None:
        """At the server in question if there is one, else at the one to be chosen next."""
        busy = next(iter(self.reserved.values()), self.granted and self.granted.server)
        alive = [server for server in self.servers if server.is_alive]
        target = self.server(busy) if busy else next(iter(alive), Server(self, "x", 0))
        match fault:
            case "server dies":
                target.die()
            case "server hangs":
                target.is_hung = True
            case "server restarts":
                target.die()
                self.time.after(1.0, lambda: setattr(target, "is_alive", True))
            case "server fills up":
                target.is_full = True
            case "server line breaks":
                target.break_lines()
            case "router dies":
                self.router.die()
            case "router reboots":
                self.router.reboot()
            case "router line breaks":
                self.router.break_line()
            case "router cannot reach the server":
                self.router.is_shut_out.add(target.name)
            case "client goes":
                self.is_client_here = False
                self.hear(ClientGone())
