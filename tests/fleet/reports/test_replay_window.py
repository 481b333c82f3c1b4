"""F4: boots, sequences and the window of an entry."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports import replay_window
from rookery.fleet.reports.replay_window import LATE, NEW, REPEAT, STALE


def entry(boot: int = 100) -> FleetEntry:
    return FleetEntry(b"router", "router", "", b"", b"", 0, boot, 0, 0, 0.0, 0.0)


@given(st.lists(st.integers(1, 200), max_size=200))
def test_each_sequence_is_new_once_and_within_the_window_known_for_ever(numbers: list[int]) -> None:
    known, seen, highest = entry(), set(), 0
    for number in numbers:
        verdict = replay_window.take(known, 100, number)
        if number <= highest - replay_window.WINDOW_SIZE:
            assert verdict == LATE
        else:
            assert verdict == (REPEAT if number in seen else NEW)
        seen.add(number)
        highest = max(highest, number)
        assert 0 <= known.window < 2**63  # as databases have it


def test_a_window_of_reports_that_came_in_order_stays_full() -> None:
    known = entry()
    for number in range(1, 3 * replay_window.WINDOW_SIZE):
        assert replay_window.take(known, 100, number) == NEW
    assert known.window == 2**replay_window.WINDOW_SIZE - 1
    assert replay_window.take(known, 100, known.sequence + 2) == NEW
    assert replay_window.take(known, 100, known.sequence - 1) == NEW  # overtaken on the way
    assert replay_window.take(known, 100, known.sequence - replay_window.WINDOW_SIZE + 1) == REPEAT


def test_a_newer_boot_begins_anew_and_an_older_one_is_stale_f4() -> None:
    known = entry()
    assert replay_window.take(known, 100, 5) == NEW
    assert replay_window.take(known, 101, 5) == NEW
    assert replay_window.take(known, 101, 4) == NEW  # overtaken on the way
    assert replay_window.take(known, 100, 6) == STALE
    assert (known.boot, known.previous) == (101, 100)


def turns(known: FleetEntry, number: int, seconds: float) -> list[bool]:
    """Two devices with one key: each takes a newer boot, and the other finds itself stale."""
    found = []
    for turn in range(number):
        boot = 101 + turn
        assert replay_window.take(known, boot, 1) == NEW
        found.append(replay_window.is_clone(known, boot - 1, turn * seconds))
    return found


def test_four_turns_within_ten_minutes_are_a_clone_f4() -> None:
    assert turns(entry(), 9, 20.0) == [False, False, False, True] * 2 + [False]


def test_rare_restarts_are_no_clone_f4() -> None:
    assert not any(turns(entry(), 20, 250.0))


def test_an_old_boot_counts_once_however_much_of_it_arrives_late_f4() -> None:
    known = entry()
    replay_window.take(known, 101, 1)
    assert not any(replay_window.is_clone(known, 100, 1.0) for _ in range(10))
    assert known.strikes == 1


def test_a_boot_that_never_was_does_not_count_f4() -> None:
    known = entry()
    replay_window.take(known, 101, 1)
    assert not any(replay_window.is_clone(known, boot, 1.0) for boot in range(50, 60))
    assert known.strikes == 0
