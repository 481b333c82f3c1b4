"""Link flaps: how often mesh links go down on a day, and which of them do so unusually often.

    a's samples   up up  down down  up up  (none)  up up  down  up        went down twice
    b's samples   up up  up   down  up up   up up  up up  up    up        once: this counts

A link goes down where a sample that found it down follows one that found it up, within five
minutes, on the same day and from the same start of the same node. So missing samples can only hide
it, and a node that starts, whose links are not up yet, adds nothing. Samples are in the order of
their numbers, so that a clock that is set back does not mix them.

A fault of the link is noticed by both ends, a restart of one node only by the other. So the end
that saw the link go down less often counts, unless it has less than half of the other's samples.
Times of the two ends are never compared.

A link is flapping if it goes down at least four times on a day: more often than by one outage or a
restart every night. The usual number is the median of those of the 14 days before that have at
least half as many samples.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.facts.quantities import MICROS_A_SECOND

LINK_LOOKBACK_DAYS = 0  # each day follows from its own samples
FLAPPING_LOOKBACK_DAYS = 14

GAP_US_MAX = 300 * MICROS_A_SECOND  # after a longer gap nothing follows from the sample before
DOWNS_MIN = 4
USUAL_DAYS_MIN = 3
TIMES_USUAL = 2  # as often as usual, or more: more often

_SERIES = ("realm", "node", "peer", "date", "reporter", "boot")
_END = _SERIES[:4]
_LINK = ("realm", "a", "b", "date")


def link_days(samples: DataFrame) -> DataFrame:
    """`insights/link_days` from `facts/link_samples`; nodes' own samples only."""
    in_order = Window.partitionBy(*_SERIES).orderBy("sequence", "at_us", "number")
    own = samples.filter("realm <> '' AND node <> peer AND is_up IS NOT NULL")
    followed = own.withColumn("at_us", F.unix_micros("at")).withColumns(
        {
            "was_up": F.lag("is_up").over(in_order),
            "before_us": F.lag("at_us").over(in_order),
            "next_us": F.lead("at_us").over(in_order),
        }
    )
    is_close = F.abs(F.col("at_us") - F.col("before_us")) <= GAP_US_MAX
    until_next = F.greatest(F.col("next_us") - F.col("at_us"), F.lit(0))
    lasted = F.coalesce(F.least(until_next, F.lit(GAP_US_MAX)), F.lit(0))
    judged = followed.select(
        *_SERIES,
        "at_us",
        F.coalesce(F.col("was_up") & ~F.col("is_up") & is_close, F.lit(False)).alias("goes_down"),
        F.when(~F.col("is_up"), lasted).alias("lasted_us"),
    )
    return _of_both_ends(_ends(judged))


def _ends(judged: DataFrame) -> DataFrame:
    """Days of a link as one end saw it."""
    begins = F.when(F.col("goes_down"), F.col("at_us"))
    ends = judged.groupBy(*_END).agg(
        F.count("*").alias("samples"),
        F.count_distinct(F.struct("reporter", "boot")).alias("starts"),
        F.array_sort(F.collect_list(begins)).alias("begins"),
        F.coalesce(F.sum("lasted_us"), F.lit(0)).alias("down_us"),
        F.max(F.col("at_us") + F.col("lasted_us")).alias("until_us"),
    )
    rest = F.greatest(F.size("begins") - 1, F.lit(0))
    between = F.zip_with(
        F.slice("begins", F.lit(2), rest),
        F.slice("begins", F.lit(1), rest),
        lambda later, earlier: later - earlier,
    )
    downs = F.size("begins").cast("bigint")
    return ends.withColumns({"downs": downs, "between_us": _median(between)})


def _of_both_ends(ends: DataFrame) -> DataFrame:
    """Each link once: by the end that saw it go down less often, unless it saw too little."""
    of_link = Window.partitionBy(*_LINK)
    named = ends.withColumns(
        {"a": F.least("node", "peer"), "b": F.greatest("node", "peer")}
    ).withColumns(
        {
            "ends": F.count("*").over(of_link),
            "restarts": F.sum(F.col("starts") - 1).over(of_link),
            "most": F.max("samples").over(of_link),
        }
    )
    best = of_link.orderBy("downs", F.col("samples").desc(), "node")
    chosen = (
        named.filter(2 * F.col("samples") >= F.col("most"))
        .withColumn("place", F.row_number().over(best))
        .filter("place = 1")
    )
    return chosen.select(
        "realm",
        "a",
        "b",
        "node",
        "ends",
        "samples",
        "downs",
        "down_us",
        "between_us",
        F.timestamp_micros(F.get("begins", F.lit(0))).alias("from_at"),
        F.timestamp_micros(F.when(F.col("downs") > 0, F.col("until_us"))).alias("to_at"),
        "restarts",
        "date",
    )


def flapping_links(days: DataFrame) -> DataFrame:
    """`insights/flapping_links` from `insights/link_days`."""
    before = (
        Window.partitionBy("realm", "a", "b")
        .orderBy(F.unix_date("date"))
        .rangeBetween(-FLAPPING_LOOKBACK_DAYS, -1)
    )
    earlier = F.collect_list(F.struct("samples", "downs")).over(before)
    flapping = days.withColumn("earlier", earlier).filter(F.col("downs") >= DOWNS_MIN)
    samples = F.col("samples")
    alike = F.filter("earlier", lambda day: 2 * day["samples"] >= samples)
    known = F.transform(alike, lambda day: day["downs"])
    usual = F.when(F.size("known") >= USUAL_DAYS_MIN, _median(F.col("known")))
    is_more = F.col("downs") >= TIMES_USUAL * F.col("usual_downs")
    kind = (
        F.when(F.col("usual_downs").isNull(), "no history")
        .when(is_more, "more often")
        .otherwise("as usual")
    )
    judged = flapping.withColumn("known", known).withColumn("usual_downs", usual)
    return judged.select(
        "realm",
        "a",
        "b",
        "from_at",
        "to_at",
        kind.alias("kind"),
        "downs",
        "usual_downs",
        F.size("known").cast("bigint").alias("usual_days"),
        "down_us",
        "between_us",
        "ends",
        "restarts",
        "date",
    )


def _median(values: Column) -> Column:
    """The lower one, where two are in the middle; null of nothing."""
    middle = F.call_function("div", F.size(values) - 1, F.lit(2)).cast("int")
    return F.get(F.array_sort(values), F.greatest(middle, F.lit(0)))
