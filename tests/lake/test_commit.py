"""What commits say of the days they touch (P3)."""

from collections.abc import Mapping
from datetime import date

from rookery.lake.commit import DATES, reach, reaching_dates, touched_dates

FIRST, SECOND = date(2026, 3, 4), date(2026, 3, 5)


def touching(*days: date, marks: Mapping[date, str] | None = None) -> dict[str, str]:
    dates = ",".join(day.isoformat() for day in days)
    return {DATES: dates} | ({} if marks is None else reach(marks))


COMPACTION = {"operation": "OPTIMIZE"}


def test_days_reach_back_unless_their_marks_are_the_same() -> None:
    new = [touching(FIRST, SECOND, marks={FIRST: "a", SECOND: "b"})]
    before = [touching(FIRST, SECOND, marks={FIRST: "a", SECOND: "c"})]
    assert touched_dates(new) == {FIRST, SECOND}
    assert reaching_dates(new, before) == {SECOND}
    assert reaching_dates(new, new) == frozenset()


def test_a_day_without_a_mark_then_or_now_may_reach_back() -> None:
    marked, unmarked = touching(FIRST, marks={FIRST: "a"}), touching(FIRST)
    assert reaching_dates([unmarked], [unmarked]) == {FIRST}
    assert reaching_dates([marked], [unmarked]) == {FIRST}
    assert reaching_dates([unmarked], [marked]) == {FIRST}
    assert reaching_dates([marked], []) == {FIRST}
    assert reaching_dates([touching(FIRST, marks={SECOND: "a"})], [marked]) == {FIRST}


def test_the_last_commit_that_touched_a_day_counts() -> None:
    same, other = touching(FIRST, marks={FIRST: "a"}), touching(FIRST, marks={FIRST: "b"})
    elsewhere = touching(SECOND, marks={SECOND: "c"})
    assert reaching_dates([same, other], [COMPACTION, elsewhere, same]) == frozenset()
    assert reaching_dates([COMPACTION, other, same], [same]) == {FIRST}
    assert reaching_dates([same], [other, same]) == {FIRST}
    assert reaching_dates([same], [touching(FIRST), same]) == {FIRST}
