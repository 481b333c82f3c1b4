"""Deadlines that move."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.link.timers import Timers


def test_the_earliest_deadline_comes_first() -> None:
    timers = Timers()
    timers.arm("late", 5.0)
    timers.arm("soon", 1.0)
    assert timers.deadline == 1.0
    assert timers.take_due(4.9) == ["soon"]
    assert timers.take_due(5.0) == ["late"]
    assert timers.deadline is None


def test_a_deadline_moves_earlier_but_not_later() -> None:
    timers = Timers()
    timers.arm("a", 5.0)
    timers.arm("a", 9.0)
    assert timers.deadline == 5.0
    timers.arm("a", 2.0)
    assert timers.take_due(2.0) == ["a"]
    assert timers.deadline is None


def test_a_disarmed_name_never_comes_up() -> None:
    timers = Timers()
    timers.arm("a", 5.0)
    timers.disarm("a")
    timers.disarm("unknown")
    assert timers.deadline is None
    assert timers.take_due(9.0) == []


def test_moving_one_deadline_for_ever_holds_few_entries() -> None:
    timers = Timers()
    timers.arm("idle", 25.0)
    for step in range(100_000):
        timers.arm("busy", 1e9 - step)
    assert len(timers) < 200
    assert timers.take_due(25.0) == ["idle"]


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.one_of(st.none(), st.integers(0, 50)))),
)
def test_no_name_is_later_than_its_deadline(steps: list[tuple[str, int | None]]) -> None:
    timers, wanted = Timers(), dict[str, float]()
    for name, deadline in steps:
        if deadline is None:
            timers.disarm(name)
            wanted.pop(name, None)
        else:
            timers.arm(name, float(deadline))
            wanted[name] = min(wanted.get(name, 99.0), float(deadline))
    for now in range(51):
        due = timers.take_due(float(now))
        assert sorted(due) == sorted(name for name, time in wanted.items() if time == now)
