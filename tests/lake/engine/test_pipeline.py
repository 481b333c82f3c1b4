"""The engine, on a pipeline that can be checked by hand (P1, P3)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from pyspark.sql import DataFrame, SparkSession

from rookery.errors import LocalError, UsageError
from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.engine.parquet import AddedFile
from rookery.lake.engine.pipeline import Pipeline, idle_run
from rookery.lake.engine.progress import Progress, StepOutcome, StepReport, StepStarted
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.engine.step import CleanStep, TransformStep
from rookery.lake.schema import quarantine
from rookery.lake.schema.table import Table
from tests.lake import counters
from tests.lake.counters import CLEAN, DAYS, LANDED, PIPELINE, START, STEPS, TOTAL, Row

pytestmark = pytest.mark.xdist_group("spark")

FIRST, SECOND, THIRD = (START + timedelta(days=day) for day in range(3))


def pipeline(spark: SparkSession, lake: Lake, *steps: TransformStep | CleanStep) -> Pipeline:
    return Pipeline(SparkTables(spark, lake), steps or PIPELINE)


def test_a_run_takes_in_what_is_new_and_the_next_one_nothing(
    spark: SparkSession, lake: Lake
) -> None:
    """P3: what landed is counted once, the bad is set aside, and a second run changes nothing."""
    events: list[Progress] = []
    runs = Pipeline(SparkTables(spark, lake), PIPELINE, events.append)
    assert runs.run().is_idle
    assert lake.version(CLEAN) is None
    counters.land(lake, [Row(1, 1, 10), Row(2, 2, None), Row(3, 30, 25), Row(1, 1, 10)])
    events.clear()
    assert idle_run(lake, PIPELINE) is None
    report = runs.run()
    assert report.is_ok
    cleaned = report.of(CLEAN.path)
    assert (cleaned.rows_in, cleaned.rows_out, cleaned.quarantined) == (4, 2, 1)
    assert cleaned.rows_per_s > 0
    assert report.newest == datetime(2026, 11, 2, 6, tzinfo=UTC)
    assert report.lag_s(datetime(2026, 11, 2, 7, tzinfo=UTC)) == 3600
    assert {each.step for each in events if isinstance(each, StepStarted)} == {
        each.target.path for each in PIPELINE
    }
    assert {each for each in events if isinstance(each, StepReport)} == set(report.steps)
    assert [each.step for each in report.steps] == [each.target.path for each in PIPELINE]
    assert counters.growth_of_days(lake) == {FIRST: 10, SECOND: 15}
    [aside] = lake.dataset(quarantine.OBSERVATIONS).to_table().to_pylist()
    assert (aside["position"], aside["reason"]) == (2, "no number")
    lineage = lake.dataset(DAYS).to_table()["lineage"].to_pylist()[0]
    assert (lineage["run"], lineage["inputs"]) == (report.run, "facts/steps@1")
    before = counters.versions(lake)
    again = runs.run()
    assert again.is_idle
    assert again.newest == report.newest
    assert counters.versions(lake) == before
    foretold = idle_run(lake, PIPELINE)
    assert foretold is not None
    assert [each.step for each in foretold.steps] == [each.step for each in again.steps]
    assert (foretold.is_idle, foretold.newest) == (True, report.newest)


def test_late_rows_change_the_days_that_depend_on_them_and_no_others(
    spark: SparkSession, lake: Lake
) -> None:
    """P3: what comes late is counted on its day, and what follows from it is computed anew."""
    counters.land(lake, [Row(1, 1, 10), Row(2, 30, 25), Row(3, 50, 40), Row(4, 100, 70)])
    runs = pipeline(spark, lake)
    runs.run()
    days = lake.files(DAYS, {THIRD, START + timedelta(days=4)})
    counters.land(lake, [Row(5, 20, 18, late_h=48), Row(4, 100, 70)])
    report = runs.run()
    assert report.of(CLEAN.path).rows_out == 1
    assert counters.growth_of_days(lake) == {
        FIRST: 18,
        SECOND: 7,
        THIRD: 15,
        START + timedelta(days=4): 30,
    }
    assert lake.dataset(TOTAL).to_table().to_pylist() == [{"growth": 70, "rows": 5}]
    touched = lake.changes(STEPS, 1)
    assert touched is not None
    assert touched.dates is not None
    assert {FIRST, SECOND} <= touched.dates
    assert set(days) <= set(lake.files(DAYS))


def test_a_step_that_fails_stops_only_those_that_build_on_it(
    spark: SparkSession, lake: Lake
) -> None:
    def poison(sources: Mapping[str, DataFrame]) -> DataFrame:
        return sources[CLEAN.path].selectExpr("date", "at", "n div (n - n) as growth")

    def refused(sources: Mapping[str, DataFrame]) -> DataFrame:
        raise LocalError("not today\nnor tomorrow")

    counters.land(lake, [Row(1, 1, 10)])
    clean, facts, days, total = PIPELINE
    assert isinstance(facts, TransformStep)
    other = replace(facts, target=replace(STEPS, name="others"))
    poisoned = replace(facts, transform=poison)
    refusing = replace(facts, target=replace(STEPS, name="third"), transform=refused)
    report = pipeline(spark, lake, clean, poisoned, other, days, total, refusing).run()
    assert not report.is_ok
    outcomes = [each.outcome for each in report.steps]
    assert outcomes == [
        StepOutcome.DONE,
        StepOutcome.FAILED,
        StepOutcome.DONE,
        StepOutcome.BLOCKED,
        StepOutcome.BLOCKED,
        StepOutcome.FAILED,
    ]
    assert "DIVIDE_BY_ZERO" in report.of(STEPS.path).text
    assert report.of(DAYS.path).text == "waits for facts/steps"
    assert report.of("facts/third").text == "not today"
    assert lake.version(STEPS) is None
    mended = pipeline(spark, lake).run()
    assert mended.is_ok
    assert counters.growth_of_days(lake) == {FIRST: 10}


class Watched(Lake):
    """A lake where something happens right before a table's commit."""

    def __init__(
        self, lake: Lake, path: str, before: Callable[[Callable[[], int]], object]
    ) -> None:
        super().__init__(lake.url)
        self._path = path
        self._before = before

    def commit(
        self,
        table: Table,
        added: Sequence[AddedFile],
        replaced: Collection[date] | Literal["all"] | None,
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> int:
        if table.path == self._path:
            rival = Lake(self.url)
            self._before(lambda: rival.commit(table, added, replaced, claims, {"run": "rival"}))
        return super().commit(table, added, replaced, claims, metadata)


def test_of_two_drivers_one_wins_and_nothing_is_doubled(spark: SparkSession, lake: Lake) -> None:
    """P3: the slower one says so in one line."""
    counters.land(lake, [Row(1, 1, 10), Row(2, 2, None)])
    report = pipeline(spark, Watched(lake, CLEAN.path, lambda commit: commit())).run()
    lost = report.of(CLEAN.path)
    assert lost.outcome is StepOutcome.CONFLICT
    assert "another driver was faster" in lost.text
    assert "\n" not in lost.text
    assert report.of(STEPS.path).outcome is StepOutcome.BLOCKED
    clean, facts, *_ = PIPELINE
    assert pipeline(spark, lake, clean, facts).run().is_ok
    assert [lake.rows(each) for each in (CLEAN, STEPS, quarantine.OBSERVATIONS)] == [1, 1, 1]


def test_what_was_set_aside_before_a_crash_is_not_set_aside_again(
    spark: SparkSession, lake: Lake
) -> None:
    """P3: bad rows have a commit of their own, and none is in it twice or missing."""

    def die(commit: Callable[[], int]) -> None:
        raise LocalError("power cut")

    clean = PIPELINE[0]
    counters.land(lake, [Row(1, 1, 10), Row(2, 2, None)])
    report = pipeline(spark, Watched(lake, CLEAN.path, die), clean).run()
    assert report.of(CLEAN.path).text == "power cut"
    counters.land(lake, [Row(3, 3, None), Row(4, 4, 30)])
    report = pipeline(spark, lake, clean).run()
    assert report.of(CLEAN.path).quarantined == 1
    aside = lake.dataset(quarantine.OBSERVATIONS).to_table()["position"].to_pylist()
    assert sorted(aside) == [2, 3]
    assert lake.rows(CLEAN) == 2


def test_a_backfill_computes_days_anew_from_what_landed(spark: SparkSession, lake: Lake) -> None:
    """P1: replay is the same work over other days; days that landing lacks keep their rows."""
    counters.land(lake, [Row(1, 1, 10), Row(2, 30, 25), Row(3, 50, 40)])
    runs = pipeline(spark, lake, *PIPELINE[:3])
    runs.run()
    lake.commit(CLEAN, [], {SECOND}, [], {})
    runs.run()
    assert counters.growth_of_days(lake) == {FIRST: 10, THIRD: 30}
    report = runs.backfill(SECOND, SECOND)
    assert report.is_ok
    assert report.of(CLEAN.path).rows_out == 1
    assert counters.growth_of_days(lake) == {FIRST: 10, SECOND: 15, THIRD: 15}
    assert runs.run().is_idle
    lake.commit(LANDED, [], {FIRST}, [CommitClaim("retention", None, 1)], {})
    runs.backfill(FIRST, SECOND)
    assert counters.growth_of_days(lake) == {FIRST: 10, SECOND: 15, THIRD: 15}
    with pytest.raises(UsageError, match="before"):
        runs.backfill(SECOND, FIRST)


def test_a_source_that_appears_later_brings_its_own_days(spark: SparkSession, lake: Lake) -> None:
    counters.land(lake, [Row(1, 1, 10), Row(2, 30, 25)])
    clean, facts, *_ = PIPELINE
    assert isinstance(facts, TransformStep)
    other = replace(STEPS, name="others")

    def both(sources: Mapping[str, DataFrame]) -> DataFrame:
        mine = sources[STEPS.path].select("date", "growth")
        return counters.days({STEPS.path: mine.union(sources[other.path].select(*mine.columns))})

    joined = TransformStep(DAYS, (STEPS, other), both, lookback_days=0)
    pipeline(spark, lake, clean, facts, joined).run()
    assert counters.growth_of_days(lake) == {FIRST: 10, SECOND: 15}
    kept = lake.files(DAYS, {FIRST})
    rows = spark.createDataFrame([(None, 100, SECOND)], STEPS.struct)
    SparkTables(spark, lake).append(other, rows, [], {})
    pipeline(spark, lake, clean, facts, joined).run()
    assert counters.growth_of_days(lake) == {FIRST: 10, SECOND: 115}
    assert lake.files(DAYS, {FIRST}) == kept


def test_a_whole_table_reads_only_its_weeks(spark: SparkSession, lake: Lake) -> None:
    rows = [(None, 1, date(2026, 10, 1)), (None, 2, date(2026, 10, 20)), (None, 4, FIRST)]
    SparkTables(spark, lake).append(STEPS, spark.createDataFrame(rows, STEPS.struct), [], {})
    pipeline(spark, lake, TransformStep(TOTAL, (STEPS,), counters.total, weeks=2)).run()
    assert lake.dataset(TOTAL).to_table().to_pylist() == [{"growth": 6, "rows": 2}]


def test_files_that_cannot_be_read_are_set_aside_and_the_run_goes_on(
    spark: SparkSession, lake: Lake
) -> None:
    """P3: a truncated file and one that is damaged inside; each is named once, with the reason."""
    clean = PIPELINE[0]
    for position in (1, 2, 3):
        counters.land(lake, [Row(position, 1, position)])
    _, cut, damaged = (Path(uri) for uri in sorted(lake.files(LANDED)))
    cut.write_bytes(cut.read_bytes()[:-20])
    content = damaged.read_bytes()
    damaged.write_bytes(content[:4] + bytes(60) + content[64:])
    report = pipeline(spark, lake, clean).run()
    assert report.is_ok
    assert report.of(CLEAN.path).quarantined == 2
    aside = lake.dataset(quarantine.OBSERVATIONS).to_table().to_pylist()
    assert {row["source"] for row in aside} == {str(cut), str(damaged)}
    assert all(row["kind"] == "numbers" and row["reason"] for row in aside)
    assert lake.rows(CLEAN) == 1
    assert pipeline(spark, lake, clean).run().is_idle
