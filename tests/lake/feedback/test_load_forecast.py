"""How full servers will be (P4, P5)."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.feedback.load_forecast import server_load_forecast
from rookery.lake.schema.facts import SERVER_HOURS
from rookery.lake.schema.insights import SERVER_LOAD_FORECAST
from tests.lake.fact_tables import computed, made, spark_frame
from tests.lake.oracle import load_forecast as oracle

pytestmark = pytest.mark.xdist_group("spark")

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SEATS = 1_000
WEEK = 168


def report(server: str, hour: int, used: int, reports: int = 6) -> dict[str, object]:
    """An hour's number counts from that Monday on."""
    at = MONDAY + hour * HOUR
    return {
        "reporter": server,
        "hour": at,
        "reports": reports,
        "seats_max": SEATS,
        "seats_used_sum": reports * used,
        "date": at.date(),
    }


def forecast(spark: SparkSession, rows: list[dict[str, object]]) -> DataFrame:
    return server_load_forecast(spark_frame(spark, SERVER_HOURS, made(SERVER_HOURS, rows)))


def test_an_hour_is_as_it_was_in_most_weeks_and_as_of_late(spark: SparkSession) -> None:
    """Weeks of 200, 400 and 410 seats: the median is 400; the hour that runs counts nothing."""
    rows = [report("s", 5 + week * WEEK, used) for week, used in enumerate((200, 400, 410))]
    rows += [report("s", 4 + 3 * WEEK, 999), report("t", 5, 100), report("t", 5 + WEEK, 100)]
    found = forecast(spark, rows)
    at = MONDAY + 5 * HOUR + timedelta(weeks=3)
    known = [
        ("s", at, 0.4, 0.41, 3, True, 0.75 * 0.98),
        ("t", at, 0.1, 0.1, 2, True, 0.5),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(known, found.schema))


def test_nine_times_of_ten_is_nine_of_ten_by_weight(spark: SparkSession) -> None:
    """Weeks that count 64 + 51 + 41 + 33 of 210 are nine tenths, and the oldest is the rest."""
    backs = {3: 100, 4: 100, 5: 100, 6: 100, 8: 900}
    rows = [report("s", 5 + (8 - back) * WEEK, used) for back, used in backs.items()]
    [row] = forecast(spark, [*rows, report("s", 4 + 8 * WEEK, 0)]).collect()
    assert (row.share, row.high_share, row.evidence, row.confidence) == (0.1, 0.1, 5, 1.0)


def test_days_have_to_do_where_weeks_are_few(spark: SparkSession) -> None:
    rows = [report("s", 9 + 24 * day, used) for day, used in enumerate((300, 100, 120))]
    found = forecast(spark, [*rows, report("s", 72, 0)])
    known = [
        ("s", MONDAY + timedelta(days=day, hours=9), 0.12, 0.3, 3, False, 0.375 * 0.96)
        for day in (3, 4)
    ]
    assertDataFrameEqual(found, spark.createDataFrame(known, found.schema))


def test_a_server_that_lies_about_its_seats_stops_nothing(spark: SparkSession) -> None:
    honest = [report("s", 5 + week * WEEK, 100) for week in range(2)]
    lies = [report("liar", 5 + week * WEEK, 1 << 31, reports=5000) for week in range(2)]
    found = forecast(spark, [*honest, *lies, report("s", 4 + 2 * WEEK, 100)]).collect()
    assert [(row.server, row.share) for row in found] == [("s", 0.1)]


def used(chance: random.Random, server: int, hour: int) -> int:
    """Busy in working hours, quiet at weekends, more each week, and noisy."""
    day, of_day = divmod(hour % WEEK, 24)
    is_busy = day < 5 and 8 <= of_day < 18
    base = (550 if is_busy else 120) + 40 * server + 2 * (hour // WEEK)
    return max(0, min(SEATS, int(base + chance.gauss(0, 60))))


def test_weeks_are_what_plain_python_makes_of_them(spark: SparkSession) -> None:
    """P4: row for row, with holes, a server that is new, and one that is gone."""
    chance = random.Random(11)
    rows = [
        report(f"s{server}", hour, used(chance, server, hour), chance.randint(1, 6))
        for server, first, last in ((0, 0, 10), (1, 0, 10), (2, 8, 10), (3, 0, 2))
        for hour in range(first * WEEK, last * WEEK)
        if chance.random() < 0.8
    ]
    hours: dict[str, dict[int, tuple[int, int]]] = {}
    for row in rows:
        number = (row["hour"] - EPOCH) // HOUR  # type: ignore[operator]
        share = row["seats_used_sum"] * 1_000_000 // (row["reports"] * SEATS)  # type: ignore[operator]
        hours.setdefault(str(row["reporter"]), {})[number] = (share, row["reports"])  # type: ignore
    found = computed(SERVER_LOAD_FORECAST, forecast(spark, rows)).to_pylist()
    known = oracle.forecast(hours)
    assert {
        (row["server"], (row["hour"] - EPOCH) // HOUR, *list(row.values())[2:]) for row in found
    } == known
    assert len(found) == len(known) > 0


def test_it_is_nearer_than_what_is_now_and_what_was_last_week() -> None:
    """P4: mean error over 48 h on four weeks that were held out, as the guide says."""
    chance = random.Random(5)
    hours = {
        f"s{server}": {hour: (used(chance, server, hour) * 1000, 6) for hour in range(12 * WEEK)}
        for server in range(3)
    }
    errors: dict[str, list[int]] = {"forecast": [], "now": [], "last week": []}
    for now in range(8 * WEEK, 12 * WEEK - 48, 31):
        known = {
            server: {hour: value for hour, value in all_hours.items() if hour <= now}
            for server, all_hours in hours.items()
        }
        for server, target, share, *_ in oracle.forecast(known):
            actual = hours[server][target][0]
            errors["forecast"].append(abs(round(share * 1_000_000) - actual))
            errors["now"].append(abs(hours[server][now][0] - actual))
            errors["last week"].append(abs(hours[server][target - WEEK][0] - actual))
    mean = {name: sum(each) / len(each) / 1_000_000 for name, each in errors.items()}
    assert mean["forecast"] < 0.9 * mean["last week"]
    assert mean["forecast"] < 0.5 * mean["now"]
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "lake.md").read_text()
    for name, text in (
        ("forecast", "as the lake expects it"),
        ("last week", "as it was a week ago"),
        ("now", "as it is now"),
    ):
        assert f"| {text} | {mean[name]:.1%} |".replace("%", " %") in guide
