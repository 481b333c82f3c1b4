"""Links that go down often, and days that only look like it (P4)."""

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rookery.lake.engine.delta import Lake
from rookery.lake.engine.pipeline import Pipeline, idle_run
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.insights import link_flaps
from rookery.lake.schema.facts import LINK_SAMPLES
from rookery.lake.schema.insights import FLAPPING_LINKS, LINEAGE, LINK_DAYS
from rookery.lake.steps import STEPS
from rookery.lake.synthetic.dataset import SyntheticDataset
from tests.lake.fact_tables import bare, computed, facts_of, made, spark_frame
from tests.lake.oracle import database
from tests.lake.oracle import link_flaps as oracle
from tests.lake.oracle.link_flaps import Row
from tests.lake.synthetic.test_roster import living
from tests.lake.synthetic_world import SyntheticWorld, landed_world

pytestmark = pytest.mark.xdist_group("spark")

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
MINUTE_US = 60_000_000
UP_AND_DOWN = "++-++--++-++-++-+"  # goes down five times


def samples(
    peer: str, seen: str, node: str = "a", boot: int = 1, since: datetime = NOON, **more: object
) -> Iterator[Row]:
    """One each minute: + found the link up, - down, a space stands for a sample that is missing;
    < sets the node's clock back by three hours, | is a restart of the node."""
    at = since
    for number, sign in enumerate(seen):
        if sign == "<":
            at -= timedelta(hours=3)
        elif sign == "|":
            boot += 1
        else:
            at += MINUTE
        if sign in "+-":
            row = {"reporter": f"id {node}", "boot": boot, "sequence": number, "number": 0}
            ends = {"realm": "r", "node": node, "peer": peer}
            yield row | ends | {"at": at, "is_up": sign == "+", "date": at.date(), **more}


def both(name: str, of_a: str, of_b: str) -> list[Row]:
    """Samples of one link by both of its ends: the link has the name of its end b."""
    return [*samples(name, of_a), *samples("a", of_b, node=name)]


def days_of(spark: SparkSession, rows: Iterable[Row]) -> list[Row]:
    """What Spark makes of samples, after the oracle made the same of them."""
    made_of = made(LINK_SAMPLES, list(rows))
    found = computed(LINK_DAYS, link_flaps.link_days(spark_frame(spark, LINK_SAMPLES, made_of)))
    known = made(LINK_DAYS, oracle.link_days(made_of.to_pylist()))
    assert database.differences(known, found) == []
    days: list[Row] = found.to_pylist()
    return days


def flapping_of(spark: SparkSession, days: Iterable[Row]) -> list[Row]:
    """The same of days."""
    rows = list(days)
    frame = spark.createDataFrame(made(LINK_DAYS, rows))
    found = computed(FLAPPING_LINKS, link_flaps.flapping_links(frame))
    known = made(FLAPPING_LINKS, oracle.flapping_links(rows))
    assert database.differences(known, found) == []
    flapping: list[Row] = found.to_pylist()
    return flapping


def test_a_link_is_counted_once_by_what_both_ends_saw(spark: SparkSession) -> None:
    """One end missed that the link was down for a moment; it is the one that counts."""
    rows = both("b", UP_AND_DOWN, UP_AND_DOWN.replace("+-++--", "+++++--", 1))
    [day] = days_of(spark, rows)
    assert (day["a"], day["b"], day["node"], day["ends"]) == ("a", "b", "b", 2)
    assert (day["downs"], day["restarts"]) == (4, 0)


def test_how_long_and_how_far_apart(spark: SparkSession) -> None:
    [day] = days_of(spark, samples("b", UP_AND_DOWN))
    assert (day["node"], day["ends"], day["samples"]) == ("a", 1, len(UP_AND_DOWN))
    assert day["downs"] == 5
    assert day["down_us"] == 6 * MINUTE_US
    assert day["between_us"] == 3 * MINUTE_US
    assert (day["from_at"], day["to_at"]) == (NOON + 3 * MINUTE, NOON + 17 * MINUTE)


@pytest.mark.parametrize(
    ("what", "of_a", "of_b", "downs"),
    [
        ("one outage of hours", "+" * 9 + "-" * 200 + "+" * 9, "+" * 8 + "-" * 201 + "+" * 9, 1),
        ("a restarts six times", "+++|-++" * 6, "++--++" * 6, 0),
        ("b is down for good", "+++" + "-" * 300, "+++", 1),
        ("every second stretch of samples is missing", ("+" * 9 + " " * 9 + "-" * 9) * 9, "", 0),
        ("down or unknown", "+-" + "      -" * 9, "", 1),
        ("b's clock is set back while the link is down", "+++--+++", "+++--<+++", 1),
        ("b's clock is set back to when the link was down", "+---+++++", "+---+<+++++", 1),
        ("b sent too little to have a say", UP_AND_DOWN, "++++", 5),
        ("b sent just enough", UP_AND_DOWN, "+" * 9, 0),
        ("it is found down at first", "--+++", "-++++", 0),
    ],
)
def test_what_only_looks_like_flapping(
    spark: SparkSession, what: str, of_a: str, of_b: str, downs: int
) -> None:
    [day] = days_of(spark, both("b", of_a, of_b))
    assert day["downs"] == downs, what


def test_down_time_that_nobody_saw_is_not_counted(spark: SparkSession) -> None:
    """Five minutes at most from a sample to the next, and none behind the last one."""
    [day] = days_of(spark, samples("b", "+--" + " " * 60 + "-++-"))
    assert (day["downs"], day["down_us"]) == (2, (1 + 5 + 1) * MINUTE_US)


def test_days_and_realms_and_starts_are_apart_and_devices_have_no_say(
    spark: SparkSession,
) -> None:
    midnight = NOON.replace(hour=0) - 2 * MINUTE
    rows = [
        *samples("b", "+--+-+", since=midnight),  # down over midnight: once before, once after
        *samples("b", UP_AND_DOWN, realm="s"),
        *samples("b", UP_AND_DOWN, realm=""),
        *samples("a", UP_AND_DOWN),
        *samples("c", "+-+", boot=1),
        *samples("c", "+-+", boot=2, since=NOON + timedelta(hours=1)),
    ]
    found = {(day["realm"], day["b"], day["date"].day): day for day in days_of(spark, rows)}
    assert {key: (day["downs"], day["restarts"]) for key, day in found.items()} == {
        ("r", "b", 3): (0, 0),
        ("r", "b", 4): (1, 0),
        ("s", "b", 4): (5, 0),
        ("r", "c", 4): (2, 1),
    }


def test_spark_and_the_oracle_agree_on_samples_by_chance(spark: SparkSession) -> None:
    chance = random.Random(7)
    rows: list[Row] = []
    for a, b in (("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("a", "c")):
        for boot in range(3):
            seen = "".join(chance.choices("+-  <|", (60, 20, 10, 10, 1, 1), k=600))
            since = NOON + timedelta(hours=chance.randrange(40))
            rows += samples(b, seen, node=a, boot=10 * boot, since=since)
    days = days_of(spark, rows)
    assert len(days) >= 6
    assert flapping_of(spark, days)


def day_of(number: int, downs: int, link: str = "b", of: int = 1000) -> Row:
    at = NOON + number * DAY
    ends = {"realm": "r", "a": "a", "b": link, "node": "a", "ends": 2, "restarts": 0}
    times = {"from_at": at, "to_at": at + MINUTE, "date": at.date()} if downs else {}
    more = {"samples": of, "down_us": downs * MINUTE_US, "between_us": None}
    return {"date": at.date(), **ends, **more, **times, "downs": downs}


def test_a_day_is_compared_with_the_links_own_days_before(spark: SparkSession) -> None:
    rows = [
        *(day_of(number, 0) for number in range(6)),
        day_of(6, 3),  # one restart more than most nights
        day_of(7, 4),
        *(day_of(number, 6, "c") for number in range(5)),
        day_of(5, 11, "c"),
        day_of(6, 12, "c"),
        day_of(0, 9, "d"),  # 15 days ago
        *(day_of(13 + number, 0, "d") for number in range(2)),
        day_of(15, 5, "d"),
        *(day_of(number, 0, "e", of=499) for number in range(9)),  # too little is known of them
        day_of(9, 4, "e"),
    ]
    kinds = {
        (row["b"], (row["date"] - NOON.date()).days): (
            row["kind"],
            row["usual_downs"],
            row["usual_days"],
        )
        for row in flapping_of(spark, rows)
    }
    assert kinds == {
        ("b", 7): ("more often", 0, 7),
        ("c", 0): ("no history", None, 0),
        ("c", 1): ("no history", None, 1),
        ("c", 2): ("no history", None, 2),
        ("c", 3): ("as usual", 6, 3),
        ("c", 4): ("as usual", 6, 4),
        ("c", 5): ("as usual", 6, 5),
        ("c", 6): ("more often", 6, 6),
        ("d", 0): ("no history", None, 0),
        ("d", 15): ("no history", None, 2),
        ("e", 9): ("no history", None, 0),
    }


def test_links_that_fade_die_or_lose_their_relay_do_not_flap(
    spark: SparkSession, synthetic: SyntheticWorld
) -> None:
    """P4: row for row; the dead link went down once, and nothing flaps."""
    days = days_of(spark, facts_of(synthetic.lake.url)[LINK_SAMPLES.path].to_pylist())
    downs = {(frozenset((day["a"], day["b"])), day["date"]): day["downs"] for day in days}
    dead = synthetic.truth.dead_links()
    assert dead
    for each in dead:
        assert downs[frozenset((each.node, each.peer)), each.from_at.date()] == 1
    assert set(downs.values()) == {0, 1}
    assert flapping_of(spark, days) == []


def test_the_flapping_link_of_a_roster_is_found_and_no_other(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It is down four times a day, once more on the day that its relay is away."""
    dataset = SyntheticDataset(days=5, roster=living(), interval_s=300)
    world = landed_world(tmp_path, dataset)
    days = days_of(spark, facts_of(world.lake.url)[LINK_SAMPLES.path].to_pylist())
    found = sorted(flapping_of(spark, days), key=lambda row: row["date"])
    one, _, other = (each.hashname for each in living().devices[:3])
    assert {(row["a"], row["b"]) for row in found} == {tuple(sorted((one, other)))}
    assert [row["downs"] for row in found] == [4, 4, 5, 4, 4]
    assert [row["kind"] for row in found] == ["no history"] * 3 + ["as usual"] * 2
    assert {row["between_us"] for row in found if row["downs"] == 4} == {360 * MINUTE_US}
    assert {row["down_us"] for row in found if row["downs"] == 4} == {60 * MINUTE_US}


def put(tables: SparkTables, *days: tuple[date, Iterable[Row]]) -> None:
    for day, rows in days:
        frame = spark_frame(tables.spark, LINK_SAMPLES, made(LINK_SAMPLES, list(rows)))
        tables.replace(LINK_SAMPLES, frame, [day], [], {})


def test_a_lake_without_these_tables_gets_them_and_then_what_is_new(
    spark: SparkSession, lake: Lake
) -> None:
    steps = [each for each in STEPS if each.target in (LINK_DAYS, FLAPPING_LINKS)]
    assert [each.target for each in steps] == [LINK_DAYS, FLAPPING_LINKS]
    tables = SparkTables(spark, lake)
    starts = [NOON + number * DAY for number in range(3)]
    past = {each.date(): list(samples("b", "+" * 20, since=each)) for each in starts}
    put(tables, *past.items())
    assert idle_run(lake, steps) is None
    assert Pipeline(tables, steps).run().is_ok
    assert lake.dates(LINK_DAYS) == past.keys()
    assert idle_run(lake, steps) is not None
    since = NOON + 3 * DAY
    last = list(samples("b", UP_AND_DOWN, since=since))
    before = lake.version(LINK_DAYS)
    put(tables, (since.date(), last))
    assert Pipeline(tables, steps).run().is_ok
    changes = lake.changes(LINK_DAYS, before)
    assert changes is not None
    assert set(changes.dates or ()) == {since.date()}
    days = oracle.link_days([row for rows in past.values() for row in rows] + last)
    for table, known in ((LINK_DAYS, days), (FLAPPING_LINKS, oracle.flapping_links(days))):
        found = lake.dataset(table).to_table().drop_columns([LINEAGE.name])
        assert database.differences(made(table, known), found.cast(bare(table))) == []
    [row] = lake.dataset(FLAPPING_LINKS).to_table().to_pylist()
    assert (row["downs"], row["usual_downs"], row["kind"]) == (5, 0, "more often")
