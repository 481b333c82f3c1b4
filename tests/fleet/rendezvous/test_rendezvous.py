"""F6 to F10: every row of the rendezvous' table, and what the client reads meanwhile."""

import random

import pytest

from rookery.fleet.rendezvous import wish as texts
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
from rookery.fleet.rendezvous.placement import ServerChoice, ServerLoad
from rookery.fleet.rendezvous.rendezvous import Rendezvous, RendezvousLimits, RendezvousState
from rookery.fleet.rendezvous.wish import Wish, WishStep, WishStepName
from rookery.wire.fleet.messages import (
    AbandonedMessage,
    ArrivedMessage,
    FaultCode,
    RefusedMessage,
    ReservedMessage,
)

MAC = bytes.fromhex("02fc00000001")
DEVICE = "r" * 52
NAMES = ("alpha", "bravo", "charlie", "delta")
LIMITS = RendezvousLimits()
WALL = 1_800_000_000.0


def load(name: str) -> ServerLoad:
    return ServerLoad(
        name * 8, f"{name}:1", f"ws://{name}", b"key", b"digest", 9, 0, 0, 0.0, 0.0, 0.0
    )


class Play:
    """One rendezvous, and all that it did since it was last asked."""

    def __init__(self, names: tuple[str, ...] = NAMES) -> None:
        self.names = names
        self.now = 100.0
        wish = Wish(7, MAC, "ann", WALL, "hub")
        chance = random.Random(11).randbytes
        self.core = Rendezvous(wish, DEVICE, self.choose, chance, LIMITS, self.now)
        self.actions: list[RendezvousAction] = []

    def choose(self, failed: frozenset[str]) -> ServerChoice | None:
        left = [load(name) for name in self.names if name * 8 not in failed]
        return ServerChoice(left[0], "the least loaded", ()) if left else None

    def on(self, *events: RendezvousEvent) -> list[RendezvousAction]:
        """What the last of these events leads to."""
        for event in events:
            self.actions = self.core.handle(event, self.now, WALL + self.now)
        return self.actions

    def late(self) -> list[RendezvousAction]:
        assert self.core.deadline is not None
        self.now = self.core.deadline
        return self.on(RendezvousTick())

    @property
    def reserve(self) -> ReserveSeat:
        return next(action for action in self.actions if isinstance(action, ReserveSeat))

    @property
    def seat(self) -> str:
        return self.reserve.message.seat

    @property
    def kinds(self) -> list[type[RendezvousAction]]:
        return [type(action) for action in self.actions]

    @property
    def steps(self) -> list[WishStep]:
        return [action.step for action in self.actions if isinstance(action, SayStep)]

    @property
    def names_said(self) -> list[WishStepName]:
        return [step.name for step in self.steps]


def waiting() -> Play:
    play = Play()
    play.on(DeviceReported())
    return play


def reserving() -> tuple[Play, str]:
    play = waiting()
    play.on(DeviceAsked(1))
    return play, play.seat


def directed() -> tuple[Play, str]:
    play, seat = reserving()
    play.on(ReservedMessage(seat))
    return play, seat


# The way it should go


def test_the_whole_way_step_by_step() -> None:
    play = Play()
    assert play.core.start(WALL) == [SayStep(WishStep(7, "wished", texts.WISHED, WALL))]
    play.on(DeviceReported())
    assert play.kinds == [CallDevice, SayStep]
    assert play.names_said == ["called"]
    play.on(DeviceAsked(1))
    assert play.kinds == [SayStep, SayStep, ReserveSeat]
    assert play.names_said == ["router_here", "reserving"]
    assert (play.steps[1].server, play.steps[1].reason) == ("alpha" * 8, "the least loaded")
    message = play.reserve.message
    assert (message.mac, message.router, message.client) == (MAC, DEVICE, "ann")
    play.on(ReservedMessage(message.seat))
    assert play.kinds == [DirectDevice, CloseDevice, SayStep]
    assert play.names_said == ["directed"]
    play.on(ArrivedMessage(message.seat))
    assert play.kinds == [CloseServer, SayStep, SayStep, EndWish]
    assert play.names_said == ["arrived", "done"]
    grant = play.steps[1].grant
    assert grant is not None
    assert (grant.seat, grant.server, grant.seconds) == (message.seat, "alpha" * 8, 60)
    assert (grant.mac, grant.tcp, grant.ws) == ("02:fc:00:00:00:01", "alpha:1", "ws://alpha")
    assert play.core.deadline is None
    assert play.core.state is RendezvousState.ENDED


def test_the_device_learns_where_to_go_and_the_server_only_hashes() -> None:
    play, seat = reserving()
    reserve = play.reserve.message
    direct = play.on(ReservedMessage(seat))[0]
    assert isinstance(direct, DirectDevice)
    assert (direct.connection, direct.message.wish, direct.message.seat) == (1, 7, seat)
    assert direct.message.server.tcp == "alpha:1"
    play.on(ArrivedMessage(seat))
    grant = play.steps[-1].grant
    assert grant is not None
    assert grant.ticket != direct.message.ticket
    told = {grant.ticket.encode(), direct.message.ticket.encode()}
    assert not told & {reserve.router_ticket_hash, reserve.client_ticket_hash}


def test_a_device_that_connects_need_not_ask() -> None:
    play = Play()
    play.on(DeviceConnected(1))
    assert play.names_said == ["router_here", "reserving"]
    assert play.on(DeviceAsked(1)) == []


def test_the_question_of_a_device_that_was_directed_meanwhile_changes_nothing() -> None:
    play = Play()
    play.on(DeviceConnected(1))
    play.on(ReservedMessage(play.seat))
    assert play.on(DeviceAsked(1)) == []


def test_every_report_is_answered_by_a_call_until_the_device_is_here() -> None:
    play = waiting()
    assert play.core.wants_device
    assert play.on(DeviceReported()) == [CallDevice(7)]
    deadline = play.core.deadline
    play.now += 10
    play.on(DeviceReported())
    assert play.core.deadline == deadline
    play.on(DeviceAsked(1))
    assert play.on(DeviceReported()) == []
    assert not play.core.wants_device


# What goes wrong


@pytest.mark.parametrize("what", ["refused", "lost", "abandoned", "late"])
def test_another_server_is_asked_when_one_gives_no_seat(what: str) -> None:
    play, seat = reserving()
    match what:
        case "refused":
            play.on(RefusedMessage(seat, "full"))
        case "lost":
            play.on(ServerLost(seat, "full"))
        case "abandoned":
            play.on(AbandonedMessage(seat, "full"))
        case _:
            play.late()
    assert play.kinds == [ReleaseSeat, CloseServer, SayStep, ReserveSeat]
    assert play.actions[:2] == [ReleaseSeat("alpha" * 8, seat), CloseServer(seat)]
    assert play.reserve.server.hashname == "bravo" * 8
    assert play.seat != seat
    reason = "it did not answer in time" if what == "late" else "full"
    assert play.steps[0].reason == f"{reason}; now the least loaded"
    assert play.steps[0].text == "Server alphaalp could not take you, so bravobra is being asked."


@pytest.mark.parametrize("what", ["lost", "abandoned", "refused", "late"])
def test_the_device_is_called_again_when_the_server_fails_it(what: str) -> None:
    play, seat = directed()
    match what:
        case "lost":
            play.on(ServerLost(seat, "gone"))
        case "abandoned":
            play.on(AbandonedMessage(seat, "gone"))
        case "refused":
            play.on(RefusedMessage(seat, "gone"))
        case _:
            play.late()
    assert play.kinds == [ReleaseSeat, CloseServer, SayStep]
    assert play.names_said == ["called"]
    assert play.core.wants_device
    assert play.on(DeviceReported()) == [CallDevice(7)]
    play.on(DeviceAsked(2))
    assert play.reserve.server.hashname == "bravo" * 8


def test_a_device_that_comes_back_by_itself_gets_another_server() -> None:
    play, seat = directed()
    play.on(DeviceAsked(2))
    assert play.kinds == [ReleaseSeat, CloseServer, SayStep, ReserveSeat]
    assert play.reserve.server.hashname == "bravo" * 8
    other = play.seat
    assert play.on(ArrivedMessage(seat), ReservedMessage(seat), ServerLost(seat, "late news")) == []
    play.on(ReservedMessage(other), ArrivedMessage(other))
    assert play.names_said == ["arrived", "done"]


def test_a_lost_device_gives_the_seat_back_and_no_server_the_blame() -> None:
    play, _ = reserving()
    play.on(DeviceLost(1))
    assert play.kinds == [ReleaseSeat, CloseServer, SayStep]
    assert play.steps[0].text == texts.CALLED_BACK
    play.on(DeviceAsked(2))
    assert play.reserve.server.hashname == "alpha" * 8


def test_the_newest_connection_of_the_device_counts() -> None:
    play, seat = reserving()
    assert play.on(DeviceAsked(2)) == [CloseDevice(1)]
    assert play.on(DeviceLost(1)) == []
    direct = play.on(ReservedMessage(seat))[0]
    assert isinstance(direct, DirectDevice)
    assert direct.connection == 2
    assert play.on(DeviceLost(2)) == []


def test_three_servers_are_tried_and_no_more() -> None:
    play, _ = reserving()
    play.on(RefusedMessage(play.seat, "full"))
    play.on(RefusedMessage(play.seat, "full"))
    play.on(RefusedMessage(play.seat, "broken"))
    assert play.kinds == [ReleaseSeat, CloseServer, CloseDevice, SayStep, EndWish]
    assert play.steps[0].text == texts.out_of_servers(3)
    assert play.steps[0].reason == "broken"


def test_no_device_is_called_back_after_the_last_try() -> None:
    play, _ = reserving()
    for connection in (2, 3):
        play.on(ReservedMessage(play.seat))
        play.on(DeviceAsked(connection))
    seat = play.seat
    play.on(ReservedMessage(seat), ServerLost(seat, "gone"))
    assert play.kinds == [ReleaseSeat, CloseServer, SayStep, EndWish]
    assert play.names_said == ["failed"]


def test_without_a_server_the_client_is_told_at_once() -> None:
    play = Play(())
    play.on(DeviceAsked(1))
    assert play.kinds == [SayStep, CloseDevice, SayStep, EndWish]
    assert play.steps[-1].text == texts.NO_SERVER
    close = play.actions[1]
    assert isinstance(close, CloseDevice)
    assert close.fault is not None
    assert close.fault.code == FaultCode.NO_WISH


def test_the_only_server_is_not_asked_twice() -> None:
    play = Play(("alpha",))
    play.on(DeviceAsked(1))
    play.on(RefusedMessage(play.seat, "full"))
    assert play.names_said == ["failed"]
    assert play.steps[-1].text == texts.out_of_servers(1)


def test_each_wait_has_its_own_text() -> None:
    assert Play().late()[0] == SayStep(
        WishStep(7, "failed", texts.NO_REPORT, WALL + 145, "", "no report in time")
    )
    play = waiting()
    play.late()
    assert play.steps[0].text == texts.NO_CONNECTION
    play.on(RendezvousTick())
    assert play.actions == []


def test_a_tick_too_early_is_nothing() -> None:
    play = waiting()
    assert play.on(RendezvousTick()) == []
    assert play.core.deadline == 100.0 + LIMITS.connect_s


@pytest.mark.parametrize("reached", range(5))
def test_a_client_that_goes_ends_it_at_any_step(reached: int) -> None:
    play = Play()
    seat = ""
    if reached >= 1:
        play.on(DeviceReported())
    if reached >= 2:
        play.on(DeviceAsked(1))
        seat = play.seat
    if reached >= 3:
        play.on(ReservedMessage(seat))
    if reached >= 4:
        play.on(ArrivedMessage(seat))
    play.on(ClientGone())
    dropped = {2: [ReleaseSeat, CloseServer, CloseDevice], 3: [ReleaseSeat, CloseServer]}.get(
        reached, []
    )
    assert play.kinds == ([*dropped, SayStep, EndWish] if reached < 4 else [])
    if reached < 4:
        assert play.steps[0].reason == "cancelled"


def test_who_comes_when_it_is_over_is_sent_away() -> None:
    play = waiting()
    play.on(ClientGone())
    for event in (DeviceAsked(5), DeviceConnected(5)):
        (close,) = play.on(event)
        assert isinstance(close, CloseDevice)
        assert close.fault is not None
        assert close.fault.code == FaultCode.NO_WISH


# Several hubs


def elsewhere(name: WishStepName) -> StepElsewhere:
    return StepElsewhere(WishStep(7, name, "", WALL))


def test_a_call_by_another_hub_is_a_call() -> None:
    play = Play()
    play.now += 40
    play.on(elsewhere("called"))
    assert (play.core.state, play.core.deadline) == (
        RendezvousState.CALLED,
        140.0 + LIMITS.connect_s,
    )
    assert play.on(DeviceReported()) == [CallDevice(7)]


@pytest.mark.parametrize("name", ["router_here", "reserving", "directed", "arrived"])
def test_a_hub_leaves_the_rest_to_the_one_that_has_the_device(name: WishStepName) -> None:
    play = waiting()
    assert play.on(elsewhere(name)) == []
    assert play.core.state is RendezvousState.AWAY
    assert not play.core.wants_device
    assert play.on(elsewhere("called"), DeviceReported()) == []
    assert play.on(elsewhere("done")) == [EndWish()]


def test_a_hub_that_dies_with_the_device_is_noticed_by_the_one_with_the_client() -> None:
    play = waiting()
    play.on(elsewhere("directed"))
    play.late()
    assert play.now == 100.0 + LIMITS.total_s
    assert play.names_said == ["failed"]
    assert play.steps[0].text == texts.HUB_SILENT


def test_a_device_that_then_comes_here_is_looked_after_here() -> None:
    play = waiting()
    play.on(elsewhere("directed"), DeviceAsked(1))
    assert play.names_said == ["router_here", "reserving"]


def test_even_then_the_client_is_told_in_time() -> None:
    play = waiting()
    play.on(elsewhere("directed"))
    play.now = 100.0 + LIMITS.total_s - 1
    play.on(DeviceAsked(1))
    seat = play.seat
    play.late()
    assert play.now == 100.0 + LIMITS.total_s
    assert play.actions[:2] == [ReleaseSeat("alpha" * 8, seat), CloseServer(seat)]
    assert play.names_said == ["failed"]


def test_an_end_elsewhere_ends_it_here_without_another_word() -> None:
    play, _ = reserving()
    assert play.on(elsewhere("wished"), elsewhere("directed")) == []
    play.on(elsewhere("failed"))
    assert play.kinds == [ReleaseSeat, CloseServer, CloseDevice, EndWish]


# Texts


def test_texts_are_single_sentences() -> None:
    name = "abcdefgh" * 7
    shown = [
        *(texts.WISHED, texts.CALLED, texts.CALLED_BACK, texts.DEVICE_HERE, texts.CANCELLED),
        *(texts.NO_REPORT, texts.NO_CONNECTION, texts.HUB_SILENT, texts.NO_SERVER),
        *(texts.reserving(name), texts.reserving_instead(name, name), texts.directed(name)),
        *(texts.called_back(name), texts.arrived(name), texts.done(name, 60)),
        *(texts.out_of_servers(1), texts.out_of_servers(3)),
    ]
    for text in shown:
        assert text[0].isupper()
        assert text.endswith(".")
        assert text.count(". ") == 0
        assert len(text) < 140
        assert name not in text


def test_the_total_covers_every_wait() -> None:
    assert LIMITS.total_s == 45 + 45 + 3 * (5 + 15) + 2 * 45
