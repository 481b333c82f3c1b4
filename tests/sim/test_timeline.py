"""Virtual time."""

import pytest

from rookery.errors import UnreachableError
from rookery.sim import timeline as module
from rookery.sim.timeline import InvariantError, Timeline


def test_actions_get_their_arguments_in_the_order_of_their_times() -> None:
    timeline, seen = Timeline(), list[object]()
    timeline.at(2.0, seen.append, "later")
    timeline.at(1.0, seen.append, "sooner")
    timeline.at(1.0, seen.append, "second")
    timeline.soon(seen.append, "now")
    timeline.run(5)
    assert seen == ["now", "sooner", "second", "later"]


def test_what_is_last_comes_after_everything_of_the_moment() -> None:
    timeline, seen = Timeline(), list[str]()

    def first() -> None:
        timeline.last(lambda: seen.append("last"))
        timeline.soon(seen.append, "soon")

    timeline.at(1.0, first)
    timeline.at(1.0, seen.append, "second")
    timeline.at(1.1, seen.append, "next")
    timeline.run(2)
    assert seen == ["second", "soon", "last", "next"]
    timeline.last(lambda: seen.append("alone"))
    timeline.run(0)
    assert seen[-1] == "alone"


def test_a_condition_is_checked_at_the_end_of_a_moment() -> None:
    timeline, seen = Timeline(), list[str]()
    timeline.at(1.0, lambda: timeline.last(lambda: seen.append("last")))
    timeline.at(1.0, seen.append, "second")
    timeline.run_until(lambda: bool(seen))
    assert seen == ["second", "last"]


def test_what_never_comes_is_not_waited_for() -> None:
    timeline = Timeline()
    timeline.at(5.0, lambda: None)
    with pytest.raises(UnreachableError, match="not within 1"):
        timeline.run_until(lambda: False, 1)


def test_an_invariant_is_checked_after_every_event_and_tells_what_happened() -> None:
    timeline = Timeline()

    def check() -> None:
        if timeline.now > 1.5:
            raise InvariantError("too late")

    timeline.invariants.append(check)
    for time in (1.0, 2.0, 3.0):
        timeline.at(time, timeline.journal.note, time, f"event {time}")
    with pytest.raises(InvariantError, match="too late") as caught:
        timeline.run(10)
    notes = "".join(caught.value.__notes__)
    assert "event 2.0" in notes
    assert "event 3.0" not in notes


def test_a_slow_check_runs_now_and_again() -> None:
    timeline, seen = Timeline(), list[float]()
    timeline.watch(lambda: seen.append(timeline.now), every_s=2.0)
    timeline.run(7)
    assert seen == [2.0, 4.0, 6.0]


def test_a_livelock_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVENTS_MAX", 100)
    timeline = Timeline()

    def again() -> None:
        timeline.soon(again)

    timeline.soon(again)
    with pytest.raises(InvariantError, match="time stands still"):
        timeline.run(1)
