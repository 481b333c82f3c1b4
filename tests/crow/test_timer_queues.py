"""Timers that wait one of a few lengths."""

from rookery.crow.timer_queues import TimerQueues


class Entry:
    """Waits, and is told apart by its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.due: float | None = None


def names(entries: list[Entry]) -> list[str]:
    return sorted(entry.name for entry in entries)


def test_no_entry_is_due_before_its_time() -> None:
    queues: TimerQueues[Entry] = TimerQueues()
    assert queues.deadline is None
    queues.wait(Entry("a"), 2.0, 10.0)
    queues.wait(Entry("b"), 1.0, 10.5)
    assert queues.deadline == 11.5
    assert queues.take_due(11.4) == []
    assert names(queues.take_due(11.5)) == ["b"]
    assert queues.deadline == 12.0
    assert names(queues.take_due(99.0)) == ["a"]
    assert queues.deadline is None


def test_a_cancelled_entry_is_skipped() -> None:
    queues: TimerQueues[Entry] = TimerQueues()
    first, second = Entry("first"), Entry("second")
    for entry in (first, second):
        queues.wait(entry, 1.0, 0.0)
    first.due = None
    assert names(queues.take_due(1.0)) == ["second"]


def test_a_rescheduled_entry_is_due_once() -> None:
    queues: TimerQueues[Entry] = TimerQueues()
    entry = Entry("a")
    queues.wait(entry, 1.0, 0.0)
    queues.wait(entry, 5.0, 0.5)
    assert queues.deadline == 5.5
    assert queues.take_due(1.0) == []
    assert names(queues.take_due(6.0)) == ["a"]


def test_outdated_places_are_given_up() -> None:
    queues: TimerQueues[Entry] = TimerQueues()
    entry = Entry("a")
    for now in range(1000):
        queues.wait(entry, 1.0, float(now))
    assert queues.deadline == 1000.0
    assert len(queues) == 1
