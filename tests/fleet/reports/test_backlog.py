"""F3: reports that wait for their acknowledgement."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.fleet.reports.backlog import Backlog
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.fleet.reports.sender_state import KeptReport

LIMITS = SenderLimits(kept_max=50, pace_s=0.25, resend_s=1.0, resend_max_s=30.0)


def middle(size: int) -> bytes:
    return b"\x80" + bytes(size - 1)  # neither early nor late


def backlog(number: int) -> Backlog:
    made = Backlog(LIMITS, middle)
    for index in range(number):
        made.add(3073, b"%d" % index)
    return made


def due(waiting: Backlog, now: float) -> list[int]:
    return [each.sequence for each in waiting.due(now)]


def test_a_report_is_sent_at_once_and_again_ever_later_f3() -> None:
    waiting, times = backlog(1), []
    assert due(waiting, 0.0) == [1]
    for _ in range(7):
        deadline = waiting.deadline()
        assert deadline is not None
        assert due(waiting, deadline - 0.001) == []
        assert due(waiting, deadline) == [1]
        times.append(deadline)
    assert times == [1.0, 3.0, 7.0, 15.0, 31.0, 61.0, 91.0]


def test_nothing_waits_when_all_is_acknowledged_f3() -> None:
    waiting = backlog(1)
    due(waiting, 0.0)
    assert waiting.acknowledge(1, 0.1)
    assert not waiting.acknowledge(1, 0.2)
    assert waiting.deadline() is None
    assert len(waiting) == 0


def test_four_are_under_way_at_a_pace_f3() -> None:
    waiting = backlog(20)
    assert [due(waiting, step * 0.25) for step in range(4)] == [[1], [2], [3], [4]]


def sent_for_the_first_time(waiting: Backlog, end: float) -> list[int]:
    seen: list[int] = []
    for step in range(int(end / 0.05)):
        seen += [number for number in due(waiting, step * 0.05) if number not in seen]
    return seen


def test_without_acknowledgements_no_more_than_five_are_sent_f3() -> None:
    assert sorted(sent_for_the_first_time(backlog(20), 100.0)) == [1, 2, 3, 4, 20]


def test_after_losses_one_at_a_time_is_sent_until_something_comes_back_f3() -> None:
    waiting = backlog(20)
    for step in range(100):
        due(waiting, float(step))
    assert {number for step in range(100, 300) for number in due(waiting, float(step))} == {1}
    waiting.acknowledge(1, 300.0)
    assert {number for step in range(300, 305) for number in due(waiting, float(step))} == {2, 3}


def test_the_newest_is_sent_thrice_however_long_the_oldest_waits_f3() -> None:
    waiting = backlog(1)
    for step in range(100):
        due(waiting, float(step))
    waiting.add(3073, b"new")
    sent = [number for step in range(200) for number in due(waiting, 100.0 + step / 10)]
    assert sent.count(2) == 3
    assert sent[0] == 2


def test_nothing_is_sent_that_the_hub_could_not_place_f3() -> None:
    """The hub remembers 63 numbers; the oldest that waits must stay among them."""
    waiting, highest = Backlog(SenderLimits(), middle), 0
    for number in range(100):
        now = number * 20.0
        waiting.add(3073, b"new")
        for each in due(waiting, now):
            highest = max(highest, each)
            if each > 1:
                waiting.acknowledge(each, now)
    assert highest == 32


def test_an_acknowledgement_tells_that_the_hub_is_there_f3() -> None:
    waiting = backlog(2)
    for step in range(200):
        due(waiting, step * 1.0)
    assert waiting.acknowledge(2, 200.0)
    deadline = waiting.deadline()
    assert deadline is not None
    assert deadline <= 201.0


def test_the_oldest_goes_when_there_is_no_room_f3() -> None:
    waiting = backlog(50)
    assert not waiting.add(3073, b"newest")
    assert len(waiting) == 50
    assert waiting.kept[0] == KeptReport(3073, b"1")
    assert waiting.kept[-1] == KeptReport(3073, b"newest")


def test_a_new_boot_numbers_everything_anew_f4() -> None:
    waiting = backlog(3)
    due(waiting, 0.0)
    waiting.acknowledge(1, 0.1)
    waiting.renumber()
    assert waiting.sent_highest == 0
    assert due(waiting, 0.2) == [1]
    assert [each.content for each in waiting.kept] == [b"1", b"2"]


def test_with_a_new_secret_everything_is_sent_as_for_the_first_time_f4() -> None:
    waiting = backlog(1)
    for step in range(30):
        due(waiting, float(step))
    waiting.retry()
    assert due(waiting, 30.0) == [1]
    assert waiting.deadline() == 31.0


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 60)), max_size=80))
def test_each_report_is_acknowledged_or_kept_f3(steps: list[tuple[bool, int]]) -> None:
    waiting, made, done, now = Backlog(LIMITS, middle), 0, 0, 0.0
    for is_made, number in steps:
        now += 0.3
        if is_made:
            made += waiting.add(3073, b"x")
        else:
            done += waiting.acknowledge(number, now)
        due(waiting, now)
    assert len(waiting) == made - done
