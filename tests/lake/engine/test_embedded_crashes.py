"""P3: kill -9 of `rookery lake run` together with its JVM, at seams and at any moment.

Nothing is left behind but tables and the spool, from which the next one goes on. Clusters, spools
and landers have their own rounds. ROOKERY_CRASH_ROUNDS asks for more of all.
"""

import asyncio
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rookery.lake.engine.delta import Lake
from rookery.lake.engine.pipeline import Pipeline
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.landing.lander import Lander
from rookery.lake.schema import clean, facts, insights, landing, quarantine
from rookery.lake.schema.catalog import TABLES
from rookery.lake.schema.insights import LINEAGE
from rookery.lake.schema.table import Table
from rookery.lake.steps import STEPS
from rookery.store.spool.name import SPOOL, spool_name
from rookery.store.spool.spool import Spool
from rookery.wire import observation as observations
from rookery.wire import observation_content
from rookery.wire.fleet import telemetry
from tests.lake import spools
from tests.lake.embedded_driver import EmbeddedDriver, Killed, Moment
from tests.lake.oracle import database

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]

ROUNDS = max(int(os.environ.get("ROOKERY_CRASH_ROUNDS", "6")) // 3, 2)
SEED = int(os.environ.get("ROOKERY_CRASH_SEED", "1"))
IS_LONG = ROUNDS > 2
BATCH = 40
REPEATED = 3
UNKNOWN_KIND = 99
HOUR_MS = 3_600_000

FIRST = (Moment("commit", "landing/calls"), Moment("commit", "clean/messages"))
MORE = (
    Moment("files", "facts/server_hours"),
    Moment("commit", "facts/call_hours"),
    Moment("time"),
    Moment("commit", "insights/server_load_forecast"),
    Moment("files", "clean/calls"),
    Moment("commit", "quarantine/observations"),
    Moment("time"),
    Moment("commit", "landing/server_reports"),
    Moment("commit", "facts/message_hours"),
    Moment("commit", "insights/anomalies"),
    Moment("commit", "clean/server_reports"),
)


class Input:
    """A hub's spool, what it acknowledged, and what has to come of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / SPOOL).mkdir(parents=True)
        self._count = 0

    def acknowledge(self) -> None:
        """One more batch, some of it twice: each number is a call, a message and a server's report,
        over nine days; each tenth call cannot be, and each batch has what nobody understands."""
        numbers = range(self._count + 1, self._count + BATCH + 1)
        self._count += BATCH
        records = [each for number in numbers for each in _records(number)]
        again = records[: 3 * REPEATED]
        strange = spools.record(UNKNOWN_KIND, b"%d" % numbers[0])
        asyncio.run(self._append([*records, *again, strange]))

    async def _append(self, records: list[bytes]) -> None:
        spool = await Spool.open(self.folder / SPOOL)
        await spool.durable(spool.append(records))
        await spool.close()

    def check(self, lake: Lake) -> None:
        """Counts and sums of each stage are those of what was acknowledged."""
        numbers = range(1, self._count + 1)
        sound = [number for number in numbers if number % 10]
        batches = self._count // BATCH
        bad = self._count - len(sound)
        assert sorted(_column(lake, clean.CALLS, "sequence")) == sound
        assert sorted(_column(lake, clean.MESSAGES, "sequence")) == list(numbers)
        assert sorted(_column(lake, clean.SERVER_REPORTS, "sequence")) == list(numbers)
        assert lake.rows(quarantine.OBSERVATIONS) == batches + bad
        assert lake.rows(landing.CALLS) == self._count + REPEATED * batches
        assert sum(_column(lake, facts.CALL_HOURS, "calls")) == len(sound)
        assert sum(_column(lake, facts.CALL_HOURS, "took_us_sum")) == sum(sound) * 1000
        assert sum(_column(lake, facts.MESSAGE_HOURS, "bytes")) == sum(numbers)
        assert sum(_column(lake, facts.SERVER_HOURS, "seats_used_sum")) == sum(numbers)
        assert lake.rows(insights.SERVER_LOAD_FORECAST) > 0


def _records(number: int) -> Iterator[bytes]:
    sent_ms = spools.SENT_MS - number * 7 % 216 * HOUR_MS
    call = telemetry.CallReport(
        t=sent_ms,
        b=1,
        n=number,
        who="w",
        router="r" if number % 10 else "",
        method="m",
        ms=float(number),
    )
    said = observation_content.PublishedMessage(
        t=sent_ms, b=1, n=number, theme="t", publisher="p", qos=1, size=number
    )
    load = telemetry.LoadReport(
        t=sent_ms,
        b=1,
        n=number,
        seats_max=10_000,
        seats_used=number,
        tcp="192.0.2.2:1",
        key2a=b"k",
    )
    yield spools.record(observations.CALLED, telemetry.encode(call))
    yield spools.record(observations.MESSAGE, observation_content.encode(said))
    yield spools.record(observations.SERVER, telemetry.encode(load))


def _column(lake: Lake, table: Table, name: str) -> list[int]:
    values: list[int] = lake.dataset(table).to_table([name])[name].to_pylist()
    return values


def _versions(lake: Lake) -> dict[str, int | None]:
    return {table.path: lake.version(table) for table in TABLES}


def _moments(chance: random.Random) -> list[Moment]:
    more = chance.sample(MORE, len(MORE)) * ROUNDS
    return [*FIRST, *more][:ROUNDS]


def _finish(spark: SparkSession, lake: Lake, hub: Path) -> None:
    Lander(lake, hub / SPOOL, spool_name(hub)).run()
    assert Pipeline(SparkTables(spark, lake), STEPS).run().is_ok


def _undisturbed(spark: SparkSession, hub: Path, folder: Path) -> Lake:
    """What one run makes of the same spool, in a lake that knows nothing yet."""
    copy, lake = folder / "copy", Lake(str(folder / "undisturbed"))
    shutil.copytree(hub, copy, ignore=shutil.ignore_patterns("landed"))
    _finish(spark, lake, copy)
    return lake


def _compare(whole: Lake, lake: Lake) -> None:
    for table in TABLES:
        assert (lake.version(table) is None) == (whole.version(table) is None), table.path
        if lake.version(table) is not None:
            one, other = (each.dataset(table).to_table() for each in (whole, lake))
            kept = [name for name in one.column_names if name != LINEAGE.name]
            assert database.differences(one.select(kept), other.select(kept)) == [], table.path


def test_a_driver_that_dies_with_its_jvm_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In the end counts and sums are those of what was acknowledged, one more run changes nothing,
    and, where there is time for it, all tables are those of a lake that was never disturbed."""
    chance = random.Random(SEED)
    source, lake = Input(tmp_path / "hub"), Lake(str(tmp_path / "lake"))
    driver = EmbeddedDriver(source.folder, tmp_path / "lake", tmp_path / "driver.log")
    ends: list[Killed] = []
    for moment in _moments(chance):
        source.acknowledge()
        if moment.kind == "time":
            moment = moment._replace(after_s=chance.uniform(0.2, 1.5) * ends[1].took_s)
        ends.append(driver.run(moment))
        print(moment, ends[-1][:3])
        assert ends[-1].is_killed or moment.kind == "time", ends[-1].text
    assert [end.has_jvm for end in ends[:2]] == [False, True]  # landing comes first, and needs none
    _finish(spark, lake, source.folder)
    source.check(lake)
    before = _versions(lake)
    _finish(spark, lake, source.folder)
    assert _versions(lake) == before
    if IS_LONG:
        _compare(_undisturbed(spark, source.folder, tmp_path), lake)
