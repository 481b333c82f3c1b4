"""What commits say of the days they touch (P3)."""

from collections.abc import Mapping
from datetime import date

from rookery.lake.engine.commit import (
    DATES,
    changed_fingerprint_dates,
    commits,
    fingerprint_metadata,
    touched_dates,
)
from rookery.lake.engine.delta import Lake
from tests.lake import counters
from tests.lake.counters import LANDED, Row

FIRST, SECOND = date(2026, 3, 4), date(2026, 3, 5)


def touching(*days: date, marks: Mapping[date, str] | None = None) -> dict[str, str]:
    dates = ",".join(day.isoformat() for day in days)
    return {DATES: dates} | ({} if marks is None else fingerprint_metadata(marks))


COMPACTION = {"operation": "OPTIMIZE"}


def test_what_is_committed_after_a_table_was_opened_is_not_among_its_commits(lake: Lake) -> None:
    """Else a run would take the days of later commits for those of its own, and miss these."""
    for number in range(3):
        counters.land(lake, [Row(number, number, number)])
    opened = lake.delta_table(LANDED)
    version = opened.version()
    known = [commits(opened, limit) for limit in (1, 2, 100)]
    counters.land(lake, [Row(9, 9, 9)])
    assert [commits(opened, limit) for limit in (1, 2, 100)] == known
    assert [each["version"] for each in known[1]] == [version, version - 1]
    assert len(known[2]) == version + 1


def test_days_reach_back_unless_their_marks_are_the_same() -> None:
    new = [touching(FIRST, SECOND, marks={FIRST: "a", SECOND: "b"})]
    before = [touching(FIRST, SECOND, marks={FIRST: "a", SECOND: "c"})]
    assert touched_dates(new) == {FIRST, SECOND}
    assert changed_fingerprint_dates(new, before) == {SECOND}
    assert changed_fingerprint_dates(new, new) == frozenset()


def test_a_day_without_a_mark_then_or_now_may_reach_back() -> None:
    marked, unmarked = touching(FIRST, marks={FIRST: "a"}), touching(FIRST)
    assert changed_fingerprint_dates([unmarked], [unmarked]) == {FIRST}
    assert changed_fingerprint_dates([marked], [unmarked]) == {FIRST}
    assert changed_fingerprint_dates([unmarked], [marked]) == {FIRST}
    assert changed_fingerprint_dates([marked], []) == {FIRST}
    assert changed_fingerprint_dates([touching(FIRST, marks={SECOND: "a"})], [marked]) == {FIRST}


def test_the_last_commit_that_touched_a_day_counts() -> None:
    same, other = touching(FIRST, marks={FIRST: "a"}), touching(FIRST, marks={FIRST: "b"})
    elsewhere = touching(SECOND, marks={SECOND: "c"})
    assert changed_fingerprint_dates([same, other], [COMPACTION, elsewhere, same]) == frozenset()
    assert changed_fingerprint_dates([COMPACTION, other, same], [same]) == {FIRST}
    assert changed_fingerprint_dates([same], [other, same]) == {FIRST}
    assert changed_fingerprint_dates([same], [touching(FIRST), same]) == {FIRST}
