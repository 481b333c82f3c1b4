"""Timers that wait one of a few lengths."""

from rookery.crow.timer_queues import TimerQueues


class Guest:
    """Waits, and is told apart by its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.due: float | None = None


def names(guests: list[Guest]) -> list[str]:
    return sorted(guest.name for guest in guests)


def test_nobody_is_due_before_the_time() -> None:
    lanes: TimerQueues[Guest] = TimerQueues()
    assert lanes.deadline is None
    lanes.wait(Guest("a"), 2.0, 10.0)
    lanes.wait(Guest("b"), 1.0, 10.5)
    assert lanes.deadline == 11.5
    assert lanes.take_due(11.4) == []
    assert names(lanes.take_due(11.5)) == ["b"]
    assert lanes.deadline == 12.0
    assert names(lanes.take_due(99.0)) == ["a"]
    assert lanes.deadline is None


def test_whoever_waits_no_more_is_passed_over() -> None:
    lanes: TimerQueues[Guest] = TimerQueues()
    first, second = Guest("first"), Guest("second")
    for guest in (first, second):
        lanes.wait(guest, 1.0, 0.0)
    first.due = None
    assert names(lanes.take_due(1.0)) == ["second"]


def test_whoever_begins_to_wait_anew_is_due_once() -> None:
    lanes: TimerQueues[Guest] = TimerQueues()
    guest = Guest("a")
    lanes.wait(guest, 1.0, 0.0)
    lanes.wait(guest, 5.0, 0.5)
    assert lanes.deadline == 5.5
    assert lanes.take_due(1.0) == []
    assert names(lanes.take_due(6.0)) == ["a"]


def test_outdated_places_are_given_up() -> None:
    lanes: TimerQueues[Guest] = TimerQueues()
    guest = Guest("a")
    for now in range(1000):
        lanes.wait(guest, 1.0, float(now))
    assert lanes.deadline == 1000.0
    assert len(lanes) == 1
