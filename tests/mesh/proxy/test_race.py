"""M8, R11: an automatic exit is tested, and another one takes its place; in virtual time."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.link.channels.sock import SockProtocol
from rookery.mesh.proxy.exit_memory import ExitMemory
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import NetTarget, SerialTarget
from rookery.mesh.proxy.race import (
    BeginAttempt,
    CancelAttempt,
    ExitAttempts,
    RaceOrder,
    RaceSettings,
)

WEB = NetTarget(SockProtocol.TCP, "www.example.org", 443)
OTHER = NetTarget(SockProtocol.TCP, "other.example", 443)
SETTINGS = RaceSettings()

Fate = tuple[float, ProxyFault | None]  # answers after so long; None: with success
DEAD: Fate = (1e9, None)


class Track:
    """Runs a race against exits whose fates are known, jumping from event to event."""

    def __init__(self, race: ExitAttempts, fates: dict[str, Fate], now: float = 0.0) -> None:
        self.race = race
        self.now = now
        self.begun: list[tuple[float, str]] = []
        self.called_off: list[str] = []
        self.under_way_max = 0
        self._fates = fates
        self._due: dict[str, float] = {}

    def run(self) -> float:
        """Until it is over; how long it took."""
        start = self.now
        self._obey(self.race.tick(self.now))
        while not self.race.is_over:
            answer = min(self._due, key=lambda one: (self._due[one], one), default=None)
            deadline = self.race.deadline
            assert deadline is not None
            if answer is not None and self._due[answer] <= deadline:
                self.now = self._due.pop(answer)
                self._answered(answer)
            else:
                self.now = deadline
                self._obey(self.race.tick(self.now))
        assert self.race.deadline is None
        assert self.race.tick(self.now + 100) == []
        assert not self._due, "an attempt was left under way"
        return self.now - start

    def _answered(self, exit_: str) -> None:
        fault = self._fates[exit_][1]
        if fault is None:
            self._obey(self.race.succeeded(exit_, 7, self.now))
        else:
            self._obey(self.race.failed(exit_, fault, 7, self.now))

    def _obey(self, orders: list[RaceOrder]) -> None:
        for order in orders:
            match order:
                case BeginAttempt(exit_):
                    self.begun.append((self.now, exit_))
                    self._due[exit_] = self.now + self._fates[exit_][0]
                case CancelAttempt(exit_):
                    self.called_off.append(exit_)
                    self._due.pop(exit_)
        self.under_way_max = max(self.under_way_max, len(self._due))


def track(fates: dict[str, Fate], memory: ExitMemory | None = None) -> Track:
    return Track(ExitAttempts(WEB, list(fates), memory or ExitMemory(), 0.0), fates)


def test_a_quick_exit_is_the_only_one_asked() -> None:
    run = track({"a": (0.2, None), "b": (0.0, None)})
    assert run.run() == pytest.approx(0.2)
    assert run.begun == [(0.0, "a")]
    assert run.race.winner == "a"


def test_three_are_raced_a_quarter_of_a_second_apart() -> None:
    run = track({"a": (3.0, None), "b": (3.0, None), "c": (0.1, None), "d": (0.0, None)})
    assert run.run() == pytest.approx(0.6)
    assert run.begun == [(0.0, "a"), (0.25, "b"), (0.5, "c")]
    assert run.race.winner == "c"
    assert run.called_off == ["a", "b"]


def test_a_failure_calls_the_next_one_in_at_once() -> None:
    """R11"""
    run = track(
        {"a": (0.01, ProxyFault.POLICY), "b": (0.01, ProxyFault.REFUSED), "c": (0.01, None)}
    )
    assert run.run() == pytest.approx(0.03)


def test_two_dead_exits_of_three_cost_less_than_a_second() -> None:
    """R11"""
    memory = ExitMemory()
    run = track({"a": DEAD, "b": DEAD, "c": (0.05, None)}, memory)
    assert run.run() < 1.0
    assert memory.arrange(OTHER, ["a", "b", "c"], 1.0) == ["c", "a", "b"]


def test_an_exit_asked_later_is_not_blamed_for_losing() -> None:
    memory = ExitMemory()
    run = track({"a": (0.3, None), "b": DEAD}, memory)
    run.run()
    assert run.race.winner == "a"
    assert memory.failure(OTHER, "b", 1.0) is None


def test_when_all_three_hang_the_fourth_gets_its_turn() -> None:
    run = track({"a": DEAD, "b": DEAD, "c": DEAD, "d": (0.1, None)})
    assert run.run() == pytest.approx(SETTINGS.attempt_s + 0.1)
    assert run.race.winner == "d"
    assert run.under_way_max == SETTINGS.width


def test_the_whole_race_has_an_end() -> None:
    run = track({str(number): DEAD for number in range(30)})
    assert run.run() == pytest.approx(SETTINGS.whole_s)
    assert run.race.winner is None
    assert run.race.fault is ProxyFault.TIMEOUT


def test_the_number_of_exits_asked_has_a_bound() -> None:
    run = track({str(number): (0.0, ProxyFault.POLICY) for number in range(100)})
    run.run()
    assert len(run.begun) == SETTINGS.exits_max


def test_the_most_telling_failure_is_told() -> None:
    fates: dict[str, Fate] = {
        "a": (0.0, ProxyFault.BUSY),
        "b": (0.0, ProxyFault.POLICY),
        "c": (0.0, ProxyFault.REFUSED),
        "d": (0.0, ProxyFault.DNS),
    }
    run = track(fates)
    run.run()
    assert run.race.fault is ProxyFault.REFUSED


def test_an_exit_that_never_answered_says_less_than_one_that_did() -> None:
    race = ExitAttempts(WEB, ["a", "b"], ExitMemory(), 0.0)
    race.tick(0.0)
    race.unreached("a", 0.0)
    race.failed("b", ProxyFault.DNS, 0, 0.0)
    assert race.fault is ProxyFault.DNS


def test_a_race_without_exits_is_lost_at_once() -> None:
    run = track({})
    assert run.run() == 0
    assert run.race.fault is ProxyFault.UNREACHABLE


def test_an_exit_that_cannot_be_reached_is_last_for_everything() -> None:
    memory = ExitMemory()
    race = ExitAttempts(WEB, ["a", "b"], memory, 0.0)
    assert race.tick(0.0) == [BeginAttempt("a")]
    assert race.unreached("a", 0.1) == [BeginAttempt("b")]
    assert race.unreached("a", 0.1) == []
    assert race.unreached("b", 0.1) == []
    assert race.is_over
    assert race.fault is ProxyFault.UNREACHABLE
    assert memory.failure(OTHER, "a", 1.0) is ProxyFault.TIMEOUT


def test_answers_that_come_too_late_change_nothing() -> None:
    race = ExitAttempts(WEB, ["a", "b"], ExitMemory(), 0.0)
    race.tick(0.0)
    race.tick(0.25)
    assert race.succeeded("b", 0, 0.3) == [CancelAttempt("a")]
    assert race.succeeded("a", 0, 0.3) == [CancelAttempt("a")]
    assert race.failed("a", ProxyFault.REFUSED, 0, 0.4) == []
    assert race.winner == "b"


def test_a_device_that_moved_is_found_at_its_new_host() -> None:
    """M8: the host where it was answers `gone`; the search goes on, and sticks to the new one."""
    memory, line = ExitMemory(), SerialTarget("meter")
    memory.succeeded(line, "old", 0.0)
    race = ExitAttempts(line, memory.arrange(line, ["new", "old"], 1.0), memory, 1.0)
    assert race.tick(1.0) == [BeginAttempt("old")]
    assert race.failed("old", ProxyFault.GONE, 0, 1.0) == [BeginAttempt("new")]
    assert race.succeeded("new", 0, 1.1) == []
    assert memory.arrange(line, ["old", "new"], 2.0) == ["new", "old"]


@given(st.integers(), st.integers(0, 12))
def test_every_race_ends_in_time_and_with_the_right_outcome(seed: int, count: int) -> None:
    chance = random.Random(seed)
    fates: dict[str, Fate] = {
        str(number): (chance.choice([0.0, 0.1, 0.3, 2.0, 1e9]), chance.choice([None, *ProxyFault]))
        for number in range(count)
    }
    run = track(fates)
    assert run.run() <= SETTINGS.whole_s
    assert run.under_way_max <= SETTINGS.width
    assert len({exit_ for _, exit_ in run.begun}) == len(run.begun)
    if run.race.winner is not None:
        assert fates[run.race.winner][1] is None
    else:
        quick = [fate for fate in fates.values() if fate[0] < 5 and fate[1] is None]
        assert not quick or len(run.begun) < count
