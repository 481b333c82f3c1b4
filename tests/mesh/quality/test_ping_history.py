"""M2: which pings came."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.quality.path_quality import PingHistory


def history(*sequences: int) -> PingHistory:
    made = PingHistory()
    for sequence in sequences:
        made.add(sequence)
    return made


def test_nothing_heard_is_nothing_lost() -> None:
    assert PingHistory().loss(32) == 0
    assert PingHistory().loss(32, overdue=5) == 0


def test_a_gap_is_a_loss() -> None:
    assert history(1, 2, 4).loss(32) == 0.25
    assert history(1, 2, 4).bits == 0b1101


def test_what_came_before_the_first_does_not_count() -> None:
    assert history(90, 91).loss(32) == 0
    assert history(90, 91, 88).bits == 0b11


def test_a_late_beat_fills_its_gap() -> None:
    assert history(1, 3, 2).loss(32) == 0


def test_only_the_last_pings_count() -> None:
    made = history(1, 34)
    for sequence in range(35, 66):
        made.add(sequence)
    assert made.loss(32) == 0
    assert made.loss(64) > 0


def test_overdue_pings_are_losses() -> None:
    made = history(1, 2)
    assert made.loss(32, overdue=2) == 0.5
    assert history(*range(1, 33)).loss(32, overdue=1000) == 1


def test_a_peer_that_counts_anew_begins_anew() -> None:
    made = history(*range(100, 140), 1)
    assert (made.highest, made.bits) == (1, 1)
    assert made.loss(32) == 0


def test_a_leap_forward_loses_all_between() -> None:
    made = history(1, 2**32 - 1)
    assert (made.highest, made.bits) == (2**32 - 1, 1)
    assert made.loss(32) == 31 / 32


@given(st.lists(st.integers(1, 300), min_size=1, max_size=100))
def test_the_bits_never_contradict_the_wire(sequences: list[int]) -> None:
    made = history(*sequences)
    assert made.bits & 1
    assert made.bits < 1 << min(made.highest, 64)
    assert 0 <= made.loss(32) <= 1
