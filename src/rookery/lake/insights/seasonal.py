"""Seasonal forecast: what a coming hour is like, from the same hour of the weeks before.

    weeks back       3      2      1     now ── 48 h ──▶
    . . . . h . . . h . . . h . . . |. . h . .          t: h + 168 × k, k the weeks back
    weight   64      80     100                         each week counts 4/5 of the next

Where fewer than two weeks are known, the same hour of the days before is used. All values are
integers, so that every engine comes to the same result.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

WEEKS = 8
HOURS_AHEAD = 48
WEEKS_MIN, DAYS_MIN = 2, 3  # evidence below which nothing is said
WEIGHTS = (100, 80, 64, 51, 41, 33, 26, 21)  # of one week back, two, …

_HOUR_US = 3_600_000_000
_DAY_H, _WEEK_H = 24, 168
_MONDAY_H = 72  # the epoch was a Thursday


def hour_number(hour: str) -> Column:
    """Hours since the epoch."""
    return F.call_function("div", F.unix_micros(hour), F.lit(_HOUR_US))


def hour_at(number: Column) -> Column:
    return F.timestamp_micros(number * _HOUR_US)


def hour_of_week(hour: str) -> Column:
    """0: Monday 00:00 UTC, up to 167."""
    return (hour_number(hour) + _MONDAY_H) % _WEEK_H


def expected(hours: DataFrame, keys: Sequence[str]) -> DataFrame:
    """What is to come, by `keys` and `target` (an hour's number).

    `hours` has `number`, `value` and `samples`. Of each target: `value`, the weighted median, and
    `high`, nine times of ten no more; the `values` it rests on, in order; their `samples`; how many
    they are (`evidence`), and whether they are weeks (`is_weekly`) or only days.
    """
    now = hours.agg(F.max("number").alias("now"))
    # The last hour is not over yet.
    known = hours.join(F.broadcast(now), F.lit(True), "inner").filter("number < now")
    same = _same_hours(known, keys)
    by_target = Window.partitionBy(*keys, "target", "is_weekly")
    in_order = by_target.orderBy("value", "back").rowsBetween(Window.unboundedPreceding, 0)
    weighed = same.withColumns(
        {"so_far": F.sum("weight").over(in_order), "total": F.sum("weight").over(by_target)}
    )
    found = weighed.groupBy(*keys, "target", "is_weekly").agg(
        F.min(F.when(F.expr("2 * so_far >= total"), F.col("value"))).alias("median"),
        F.min(F.when(F.expr("10 * so_far >= 9 * total"), F.col("value"))).alias("high"),
        F.array_sort(F.collect_list("value")).alias("values"),
        F.sum("samples").alias("samples"),
        F.count("*").alias("evidence"),
    )
    enough = F.col("evidence") >= F.when(F.col("is_weekly"), WEEKS_MIN).otherwise(DAYS_MIN)
    best = Window.partitionBy(*keys, "target").orderBy(F.col("is_weekly").desc())
    chosen = found.filter(enough).withColumn("place", F.row_number().over(best))
    return chosen.filter("place = 1").withColumnRenamed("median", "value").drop("place")


def confidence_ppm(agreeing: Column) -> Column:
    """A quarter for each of the first four pieces of evidence that agree; half of it for days."""
    evidence = F.col("evidence")
    whole = F.call_function(
        "div", F.least(evidence, F.lit(4)) * 250_000 * agreeing, evidence.cast("bigint")
    )
    return F.when(F.col("is_weekly"), whole).otherwise(F.call_function("div", whole, F.lit(2)))


def _same_hours(known: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Each hour with the hours to come that it is the like of."""
    ahead = F.col("now") - F.col("number")
    week = F.call_function("div", ahead + _WEEK_H - 1, F.lit(_WEEK_H))
    weekly = known.withColumns(
        {"back": week, "target": F.col("number") + week * _WEEK_H, "is_weekly": F.lit(True)}
    ).filter((F.col("back") <= WEEKS) & (F.col("target") < F.col("now") + HOURS_AHEAD))
    day = F.call_function("div", ahead + _DAY_H - 1, F.lit(_DAY_H))
    later = F.explode(F.array(F.lit(0), F.lit(1)))
    daily = (
        known.filter(ahead <= _WEEK_H)
        .withColumn("later", later)
        .withColumns(
            {
                "back": day,
                "target": F.col("number") + (day + F.col("later")) * _DAY_H,
                "is_weekly": F.lit(False),
            }
        )
    )
    columns = [*keys, "value", "samples", "back", "target", "is_weekly"]
    weights = F.array(*(F.lit(each) for each in WEIGHTS))
    both = weekly.select(*columns).unionByName(daily.select(*columns))
    return both.withColumn("weight", F.get(weights, (F.col("back") - 1).cast("int")))
