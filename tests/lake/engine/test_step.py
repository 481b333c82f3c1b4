"""Which days a step reads and computes anew, and that the steps fit together."""

from datetime import date, timedelta
from itertools import product

from rookery.lake.engine.step import CleanStep, TransformStep
from rookery.lake.schema.catalog import BY_PATH, TABLES
from rookery.lake.schema.table import Table
from rookery.lake.steps import STEPS

DAY = date(2026, 11, 10)
TABLE = Table("facts", "some", (), (), "for tests")


def days(*shifts: int) -> set[date]:
    return {DAY + timedelta(days=shift) for shift in shifts}


def step(lookback_days: int, lookahead_days: int) -> TransformStep:
    return TransformStep(TABLE, (), lambda frames: frames[""], lookback_days, lookahead_days)


def test_a_day_that_is_touched_touches_those_that_look_at_it() -> None:
    looking = step(lookback_days=2, lookahead_days=1)
    assert looking.recomputed({DAY}) == days(-1, 0, 1, 2)
    assert looking.read({DAY}) == days(-2, -1, 0, 1)


def test_days_before_are_recomputed_only_for_days_that_affect_them() -> None:
    looking = step(lookback_days=1, lookahead_days=2)
    assert looking.recomputed(days(0, 5), days(5)) == days(0, 1, 3, 4, 5, 6)
    assert looking.recomputed(days(0), []) == days(0, 1)
    assert looking.recomputed(days(0), days(0, 9)) == days(-2, -1, 0, 1)


def test_what_is_recomputed_is_exactly_what_reads_the_touched_day() -> None:
    """Whatever a step looks at, no day is forgotten and none is computed for nothing."""
    for lookback_days, lookahead_days in product(range(4), repeat=2):
        looking = step(lookback_days, lookahead_days)
        for shift in range(-9, 10):
            other = DAY + timedelta(days=shift)
            assert (other in looking.recomputed({DAY})) == (DAY in looking.read({other}))


def test_every_table_behind_landing_has_its_step() -> None:
    made = [each.target.path for each in STEPS]
    assert sorted(made) == sorted(
        each.path for each in TABLES if each.stage in {"clean", "facts", "insights"}
    )


def test_steps_come_behind_those_that_they_build_on() -> None:
    ready = {path for path in BY_PATH if path.startswith("landing/")}
    for each in STEPS:
        assert {source.path for source in each.sources} <= ready, each.target.path
        assert tuple(source.path for source in each.sources) == each.target.sources
        ready.add(each.target.path)


def test_only_tables_that_are_replaced_as_a_whole_read_weeks() -> None:
    for each in STEPS:
        if isinstance(each, CleanStep):
            assert each.lookback_days > 0
        elif each.weeks is not None:
            assert not each.target.is_dated
