"""M2, R5: when pings are sent, and what silence means."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from rookery.errors import ProtocolError
from rookery.mesh.quality.liveness import LivenessPing, PathCondition, PathLiveness
from rookery.wire.mesh.ping import DATA_SIZE, SMALL_SIZE

RTT_S = 0.1

Passes = Callable[[float, LivenessPing], bool]


def every(_: float, __: LivenessPing) -> bool:
    return True


def none(_: float, __: LivenessPing) -> bool:
    return False


def small_only(_: float, ping: LivenessPing) -> bool:
    return ping.size == SMALL_SIZE


class Path:
    """Pings over a path that answers those that pass, in virtual time."""

    def __init__(self, passes: Passes = every, patience_s: float = 0.5) -> None:
        self.liveness = PathLiveness(0.0)
        self.liveness.patience_s = patience_s
        self.now = 0.0
        self.passes = passes
        self.sent: list[tuple[float, LivenessPing]] = []
        self.changes: list[tuple[float, PathCondition]] = [(0.0, PathCondition.JOINING)]
        self._answers: list[tuple[float, LivenessPing]] = []

    def run(self, until: float) -> None:
        while True:
            answer_s = self._answers[0][0] if self._answers else float("inf")
            self.now = min(answer_s, self.liveness.deadline)
            if self.now > until:
                self.now = until
                return
            if answer_s <= self.now:
                _, ping = self._answers.pop(0)
                self.liveness.answered(ping.sequence, ping.size, self.now)
            elif ping_now := self.liveness.tick(self.now):
                self.sent.append((self.now, ping_now))
                if self.passes(self.now, ping_now):
                    self._answers.append((self.now + RTT_S, ping_now))
            self._note()

    def carry(self, size_out: int = 0) -> None:
        self.liveness.loaded(size_out)
        self.liveness.carried(self.now)

    def _note(self) -> None:
        if self.liveness.condition is not self.changes[-1][1]:
            self.changes.append((self.now, self.liveness.condition))

    def when(self, condition: PathCondition) -> float:
        return next(at for at, reached in self.changes if reached is condition)

    def times(self, since: float) -> list[float]:
        return [round(at, 3) for at, _ in self.sent if at >= since]


def test_the_first_answer_of_data_size_makes_a_path_usable() -> None:
    """R5"""
    path = Path()
    path.run(0.05)
    assert path.changes == [(0.0, PathCondition.JOINING)]
    assert path.sent == [(0.0, LivenessPing(1, DATA_SIZE, 1))]
    path.run(RTT_S)
    assert path.liveness.condition is PathCondition.UP
    assert path.liveness.proven_s == RTT_S


def test_a_path_that_swallows_large_packets_never_comes_up() -> None:
    """R5: nebula#893"""
    path = Path(small_only)
    path.run(300.0)
    assert path.changes == [(0.0, PathCondition.JOINING)]
    assert {ping.size for _, ping in path.sent} == {DATA_SIZE}


def test_an_answer_smaller_than_its_beat_is_no_proof() -> None:
    """R5"""
    path = Path(none)
    path.run(0.05)
    with pytest.raises(ProtocolError, match="64 bytes answer a beat of 1200"):
        path.liveness.answered(1, SMALL_SIZE, 0.05)
    assert path.liveness.condition is PathCondition.JOINING


def test_idle_paths_beat_every_15_s() -> None:
    """M2"""
    path = Path()
    path.run(100.0)
    assert path.times(1.5) == [16.0, 31.0, 46.0, 61.0, 76.0, 91.0]
    assert path.sent[-1][1].next_s == 15


def test_traffic_makes_pings_quick_for_10_s() -> None:
    """M2"""
    path = Path()
    path.run(20.0)
    path.carry()
    path.run(60.0)
    assert path.times(16.5) == [float(at) for at in range(20, 31)] + [45.0, 60.0]


def test_traffic_right_after_a_beat_waits_its_second() -> None:
    path = Path()
    path.run(16.2)
    path.carry()
    path.run(17.5)
    assert path.times(15.5) == [16.0, 17.0]


def busy(path: Path, until: float, size_out: int = 10) -> None:
    while path.now < until:
        path.carry(size_out)
        path.run(min(path.now + 1.0, until))


@pytest.mark.parametrize("cut_s", [20.0, 20.05, 20.3, 20.9, 20.999])
def test_a_silent_cut_of_a_busy_path_is_found_within_3_and_a_half_seconds(cut_s: float) -> None:
    """R5"""
    path = Path(lambda now, _: now <= cut_s)
    busy(path, 30.0)
    assert cut_s + 1.5 <= path.when(PathCondition.SUSPECT) <= cut_s + 2.5
    assert cut_s + 2.5 <= path.when(PathCondition.DOWN) <= cut_s + 3.5


def test_an_idle_path_hurries_after_the_first_miss() -> None:
    path = Path(lambda now, _: now < 20.0)
    path.run(50.0)
    assert path.times(20.0)[:3] == [31.0, 32.0, 33.0]
    assert [ping.next_s for at, ping in path.sent if 20.0 <= at < 33.5] == [15, 1, 1]
    assert path.when(PathCondition.DOWN) == pytest.approx(33.5)


def test_one_lost_beat_is_no_suspicion() -> None:
    path = Path(lambda now, _: not 20.0 <= now < 21.0)
    busy(path, 40.0)
    assert [condition for _, condition in path.changes] == [PathCondition.JOINING, PathCondition.UP]


def test_two_lost_pings_are_a_suspicion_that_an_answer_ends() -> None:
    path = Path(lambda now, _: not 20.0 <= now < 21.5)
    busy(path, 40.0)
    states = [condition for _, condition in path.changes]
    assert states == [
        PathCondition.JOINING,
        PathCondition.UP,
        PathCondition.SUSPECT,
        PathCondition.UP,
    ]


def test_a_late_answer_forgives_what_was_sent_before_it() -> None:
    path = Path(none)
    path.run(3.2)
    assert path.liveness.missed == 3
    path.liveness.answered(2, DATA_SIZE, 3.2)
    assert path.liveness.missed == 1
    path.liveness.answered(1, DATA_SIZE, 3.3)
    assert path.liveness.missed == 1, "overtaken by a later answer"


def test_a_path_that_was_down_must_answer_twice() -> None:
    path = Path(lambda now, _: not 20.0 <= now < 30.0)
    busy(path, 30.0)
    down_s = path.when(PathCondition.DOWN)
    path.run(40.0)
    up_s = path.changes[-1][0]
    assert path.changes[-1][1] is PathCondition.UP
    assert all(ping.size == DATA_SIZE for at, ping in path.sent if down_s < at < up_s)
    assert [at for at, _ in path.sent if 30.0 <= at < up_s][1:] != []
    assert up_s <= 30.0 + 2.0 + 1.0 + 2 * RTT_S


def test_a_path_that_answers_now_and_then_stays_down() -> None:
    answers = iter([True] * 25 + [False] * 5 + [True, False] * 200)
    path = Path(lambda _, __: next(answers))
    busy(path, 200.0)
    assert [condition for _, condition in path.changes][-1] is PathCondition.DOWN
    assert len(path.changes) == 4


def test_a_path_that_stops_passing_large_packets_goes_down_when_idle() -> None:
    """R5: a data-size ping at least every 30 s."""
    path = Path(lambda now, ping: now < 20.0 or ping.size == SMALL_SIZE)
    path.run(120.0)
    assert path.when(PathCondition.DOWN) <= 20.0 + 30.0 + 3.5
    assert path.liveness.condition is PathCondition.DOWN


def test_a_path_that_stops_passing_large_packets_goes_down_at_once_under_load() -> None:
    """R5: data went out, and nothing of its size came back."""
    path = Path(lambda now, ping: now < 20.0 or ping.size == SMALL_SIZE)
    busy(path, 30.0, size_out=5000)
    assert path.when(PathCondition.DOWN) <= 20.0 + 4.5


def test_small_traffic_needs_no_large_pings() -> None:
    path = Path()
    busy(path, 28.0, size_out=10)
    assert [at for at, ping in path.sent if ping.size == DATA_SIZE] == [0.0]


def test_proofs_are_at_most_30_s_apart() -> None:
    """R5"""
    path = Path()
    path.run(300.0)
    proofs = [at for at, ping in path.sent if ping.size == DATA_SIZE]
    assert all(later - earlier <= 30.0 for earlier, later in pairwise(proofs))


def test_our_own_sleep_is_nobody_elses_silence() -> None:
    path = Path()
    path.run(20.0)
    path.now = 500.0
    assert path.liveness.tick(500.0) is not None
    assert path.liveness.missed == 0
    assert path.liveness.condition is PathCondition.UP


def test_a_slow_path_gets_the_time_it_needs() -> None:
    path = Path(none, patience_s=3.0)
    path.run(2.9)
    assert path.liveness.missed == 0
    path.run(3.1)
    assert path.liveness.missed == 1
