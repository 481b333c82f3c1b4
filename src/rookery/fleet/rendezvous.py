"""Rendezvous: how the hub brings a router, a server and a client together.

    WISHED ─▶ CALLED ─▶ RESERVING ─▶ DIRECTED ─▶ ENDED: done
                 ▲          │ ▲          │
                 └──────────┘ └──────────┘        ENDED: failed, from everywhere

    | state         | event                                | becomes   | actions            |
    |---------------|--------------------------------------|-----------|--------------------|
    | WISHED        | Reported                             | CALLED    | Call, called       |
    | CALLED        | Reported                             | CALLED    | Call               |
    | WISHED CALLED | RouterConnected, RouterAsked         | *attempt* | router_here        |
    | AWAY          | the same                             | *attempt* | router_here        |
    | RESERVING     | Reserved                             | DIRECTED  | Direct, directed   |
    | RESERVING     | Refused, Abandoned, ServerLost, late | *attempt* | *drop*             |
    | RESERVING     | RouterLost                           | CALLED    | *drop*, called     |
    | DIRECTED      | Arrived                              | ENDED     | arrived, done      |
    | DIRECTED      | RouterConnected, RouterAsked         | *attempt* | *drop*             |
    | DIRECTED      | Refused, Abandoned, ServerLost, late | CALLED    | *drop*, called     |
    | WISHED CALLED | late                                 | ENDED     | failed             |
    | AWAY          | late                                 | ENDED     | failed             |
    | WISHED        | Elsewhere: called                    | CALLED    |                    |
    | WISHED CALLED | Elsewhere: the router is there       | AWAY      |                    |
    | any but ENDED | Elsewhere: the last step             | ENDED     | *drop*             |
    | any but ENDED | ClientGone                           | ENDED     | *drop*, failed     |
    | ENDED         | RouterConnected, RouterAsked         | ENDED     | CloseRouter        |

Small letters are steps, said to the client; *drop* is Release and CloseServer. An *attempt* chooses
a server that has not failed yet, says reserving and does Reserve; where there is none, or there
were `attempts_max`, it fails instead. After Direct, and on every way into ENDED, connections that
are still there are closed, and ENDED does Finish. Whatever is not in the table changes nothing.
AWAY: another hub has the router, and this one only sees to it that the client hears of the end.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import assert_never

from rookery.fleet import rendezvous_texts as texts
from rookery.fleet.attempt import Attempt
from rookery.fleet.placement import Choice
from rookery.fleet.rendezvous_events import (
    Action,
    Call,
    ClientGone,
    CloseRouter,
    CloseServer,
    Direct,
    Elsewhere,
    Event,
    Finish,
    Release,
    Reported,
    Reserve,
    RouterAsked,
    RouterConnected,
    RouterLost,
    Say,
    ServerLost,
    Tick,
)
from rookery.fleet.rendezvous_limits import RendezvousLimits
from rookery.fleet.wish import Grant, Step, StepName, Wish
from rookery.identity.cipher_set import RandomBytes
from rookery.wire import fleet_messages as messages

Chooser = Callable[[frozenset[str]], Choice | None]  # given the servers that have failed

_NO_WISH = messages.Fault(messages.FaultCode.NO_WISH, texts.NO_WISH)


class State(Enum):
    """What a rendezvous waits for."""

    WISHED = auto()  # a report
    CALLED = auto()  # the router
    RESERVING = auto()  # the server
    DIRECTED = auto()  # the router to be at the server
    AWAY = auto()  # another hub
    ENDED = auto()  # nothing


class Rendezvous:
    """One wish of a client for the router of that hashname; `at` are wall seconds, for steps."""

    def __init__(
        self,
        wish: Wish,
        router: str,
        choose: Chooser,
        random: RandomBytes,
        limits: RendezvousLimits,
        now: float,
    ) -> None:
        self.wish = wish
        self.state = State.WISHED
        self._router = router
        self._choose = choose
        self._random = random
        self._limits = limits
        self._deadline = now + limits.report_s
        self._give_up_at = now + limits.total_s
        self._connection: int | None = None  # the router's, as long as it waits for DIRECT
        self._directed: int | None = None  # the one that has got it
        self._attempt: Attempt | None = None
        self._attempts = 0
        self._failed: frozenset[str] = frozenset()  # servers

    @property
    def deadline(self) -> float | None:
        """When to hand in `Tick`; None once it is over."""
        return None if self.state is State.ENDED else self._deadline

    @property
    def wants_router(self) -> bool:
        """Whether reports of the router are to be answered by a call."""
        return self.state in (State.WISHED, State.CALLED)

    def start(self, at: float) -> list[Action]:
        """The first step; not at a hub that takes over what another began."""
        return [self._say("wished", texts.WISHED, at)]

    def handle(self, event: Event, now: float, at: float) -> list[Action]:
        """What is to be done, in this order."""
        match event:
            case RouterConnected(connection) | RouterAsked(connection):
                return self._router_is_here(connection, now, at)
            case _ if self.state is State.ENDED:
                return []
            case Reported():
                return self._reported(now, at)
            case RouterLost(connection):
                return self._router_lost(connection, now, at)
            case messages.Reserved(seat):
                return self._reserved(seat, now, at)
            case messages.Arrived(seat):
                return self._arrived(seat, at)
            case messages.Refused() | messages.Abandoned() | ServerLost():
                return self._server_failed(event.seat, event.reason, now, at)
            case ClientGone():
                return self._fail(texts.CANCELLED, "cancelled", at)
            case Elsewhere(step):
                return self._elsewhere(step, now)
            case Tick():
                return self._late(now, at) if now >= self._deadline else []
            case _:
                assert_never(event)

    def _reported(self, now: float, at: float) -> list[Action]:
        if not self.wants_router:
            return []
        actions: list[Action] = [Call(self.wish.id)]
        if self.state is State.WISHED:
            self._await(State.CALLED, self._limits.connect_s, now)
            actions.append(self._say("called", texts.CALLED, at))
        return actions

    def _router_is_here(self, connection: int, now: float, at: float) -> list[Action]:
        if self.state is State.ENDED:
            return [CloseRouter(connection, _NO_WISH)]
        if connection in (self._connection, self._directed):
            return []
        actions = self._close_router(None)  # a router that comes anew has left the old connection
        self._connection = connection
        if self.state is State.RESERVING:
            return actions
        if self._attempt is not None:  # it comes back because the server was no good
            reason = "the router could not use it"
            return actions + self._server_failed(self._attempt.seat, reason, now, at)
        actions.append(self._say("router_here", texts.ROUTER_HERE, at))
        return actions + self._reserve(None, "", now, at)

    def _router_lost(self, connection: int, now: float, at: float) -> list[Action]:
        if connection != self._connection:
            return []
        self._connection = None
        return self._call_back(texts.CALLED_BACK, "the router's connection was lost", now, at)

    def _reserved(self, seat: str, now: float, at: float) -> list[Action]:
        attempt = self._attempt
        if attempt is None or attempt.seat != seat or self.state is not State.RESERVING:
            return []
        assert self._connection is not None
        direct = Direct(self._connection, attempt.direct())
        self._await(State.DIRECTED, self._limits.arrive_s, now)
        self._directed = self._connection
        server = attempt.server
        said = self._say("directed", texts.directed(server.hashname), at, server.hashname)
        return [direct, *self._close_router(None), said]

    def _arrived(self, seat: str, at: float) -> list[Action]:
        attempt = self._attempt
        if attempt is None or attempt.seat != seat or self.state is not State.DIRECTED:
            return []
        server = attempt.server
        self.state = State.ENDED
        text = texts.done(server.hashname, self._limits.seat_s)
        return [
            CloseServer(seat),
            self._say("arrived", texts.arrived(server.hashname), at, server.hashname),
            self._say("done", text, at, server.hashname, grant=attempt.grant()),
            Finish(),
        ]

    def _server_failed(self, seat: str, reason: str, now: float, at: float) -> list[Action]:
        attempt = self._attempt
        if attempt is None or attempt.seat != seat:
            return []
        server = attempt.server.hashname
        self._failed |= {server}
        if self._connection is None:
            return self._call_back(texts.called_back(server), reason, now, at)
        return self._drop() + self._reserve(server, reason, now, at)

    def _late(self, now: float, at: float) -> list[Action]:
        attempt = self._attempt
        if attempt is not None and now < self._give_up_at:
            what = "did not answer" if self._connection is not None else "did not see the router"
            return self._server_failed(attempt.seat, f"it {what} in time", now, at)
        match self.state:
            case State.WISHED:
                return self._fail(texts.NO_REPORT, "no report in time", at)
            case State.AWAY:
                return self._fail(texts.HUB_SILENT, "no end in time", at)
            case _:
                return self._fail(texts.NO_CONNECTION, "no connection in time", at)

    def _elsewhere(self, step: Step, now: float) -> list[Action]:
        if step.is_last:
            return [*self._end(), Finish()]
        match self.state, step.name:
            case State.WISHED | State.CALLED, "router_here" | "reserving" | "directed" | "arrived":
                self._await(State.AWAY, self._limits.total_s, now)
            case State.WISHED, "called":
                self._await(State.CALLED, self._limits.connect_s, now)
        return []

    def _call_back(self, text: str, reason: str, now: float, at: float) -> list[Action]:
        """The router is not here, and has nowhere to go."""
        actions = self._drop()
        if self._attempts >= self._limits.attempts_max:
            return actions + self._fail(texts.out_of_servers(self._attempts), reason, at)
        self._await(State.CALLED, self._limits.return_s, now)
        return [*actions, self._say("called", text, at, reason=reason)]

    def _reserve(self, failed: str | None, reason: str, now: float, at: float) -> list[Action]:
        has_attempts = self._attempts < self._limits.attempts_max
        choice = self._choose(self._failed) if has_attempts else None
        if choice is None:
            text = texts.out_of_servers(self._attempts) if self._attempts else texts.NO_SERVER
            return self._fail(text, reason or "no server", at)
        self._attempts += 1
        self._await(State.RESERVING, self._limits.reserve_s, now)
        self._attempt = attempt = Attempt.make(
            self.wish, self._router, choice.server, self._limits.seat_s, self._random
        )
        server = choice.server.hashname
        text = texts.reserving_instead(server, failed) if failed else texts.reserving(server)
        why = f"{reason}; now {choice.reason}" if reason else choice.reason
        said = self._say("reserving", text, at, server, why)
        return [said, Reserve(choice.server, attempt.reserve())]

    def _fail(self, text: str, reason: str, at: float) -> list[Action]:
        return [*self._end(), self._say("failed", text, at, reason=reason), Finish()]

    def _end(self) -> list[Action]:
        actions = self._drop() + self._close_router(_NO_WISH)
        self.state = State.ENDED
        return actions

    def _drop(self) -> list[Action]:
        attempt, self._attempt = self._attempt, None
        if attempt is None:
            return []
        return [Release(attempt.server.hashname, attempt.seat), CloseServer(attempt.seat)]

    def _close_router(self, fault: messages.Fault | None) -> list[Action]:
        connection, self._connection = self._connection, None
        return [] if connection is None else [CloseRouter(connection, fault)]

    def _await(self, state: State, seconds: float, now: float) -> None:
        self.state = state
        self._deadline = min(now + seconds, self._give_up_at)

    def _say(
        self,
        name: StepName,
        text: str,
        at: float,
        server: str = "",
        reason: str = "",
        grant: Grant | None = None,
    ) -> Say:
        return Say(Step(self.wish.id, name, text, at, server, reason, grant))
