"""Clean: believe or refuse what landed, put its time right, and keep each observation once.

    landing ─ judged ─┬─ sound ─ fresh ─▶ clean     less what is there already
                      └─ rejected ─▶ quarantine     with the first rule that a row breaks

An observation is known by its lineage (reporter, boot, sequence), and where it has no sequence, or
0, by its place in the spool. Of several with one lineage that which came first stays. Repeats are
few and rows are wide: repeats are looked for among hashes of keys, and only they are joined with
the rows, which are never shuffled.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from rookery.lake import soundness
from rookery.lake.schema import quarantine
from rookery.lake.schema.rules import rules
from rookery.lake.schema.table import DATE, Table
from rookery.lake.step import REASON

BEHIND_MAX_DAYS = 30
AHEAD_MAX_MINUTES = 5

# A repeat has the date of what it repeats, unless a clock was wrong: it is recognised for so long.
LOOKBACK_DAYS = 2

_CLOCK_WRONG = "clock_wrong"
_PLACE = ("spool", "position")
_WHERE = "_where"
_KEY = ("reporter", "boot", "sequence", _WHERE)
_HASH = "_hash"
_RANK = "_rank"


def judged(table: Table, landed: DataFrame) -> DataFrame:
    """Rows in landing with the columns of a table in clean, and why a row is refused, or null.

    A refused row stays as it came.
    """
    reason = F.when(~soundness.is_sound(rules(table)), soundness.reason(rules(table)))
    rows = landed.withColumn(REASON, reason)
    is_refused = F.col(REASON).isNotNull()
    has_no_clock = F.col("at").isNull()
    is_wrong = ~is_refused & ~has_no_clock & ~_can_be(F.col("at"), F.col("received_at"))
    at = F.when(is_wrong | (has_no_clock & ~is_refused), F.col("received_at"))
    rows = rows.withColumns({_CLOCK_WRONG: is_wrong, "at": F.coalesce(at, F.col("at"))})
    rows = rows.withColumn(DATE, F.when(is_refused, F.col(DATE)).otherwise(F.to_date("at")))
    return rows.select(*table.arrow.names, REASON)


def rejected(table: Table, refused: DataFrame) -> DataFrame:
    """Judged rows that have a reason, as quarantine keeps them."""
    landed = [name for name in table.arrow.names if name != _CLOCK_WRONG]
    content = F.encode(F.to_json(F.struct(*landed)), "UTF-8")
    added = {
        "kind": F.lit(table.name),
        "content": content,
        "source": F.col("spool"),
        "reason": F.col(REASON),
    }
    return refused.withColumns(added).select(*quarantine.OBSERVATIONS.arrow.names)


def fresh(sound: DataFrame, known: DataFrame) -> DataFrame:
    """Sound rows that repeat neither each other nor those that are known."""
    repeats = _repeats(sound).unionByName(_repeats_of(known, sound))
    return sound.join(F.broadcast(repeats), on=list(_PLACE), how="left_anti").select(*sound.columns)


def _can_be(at: Column, received_at: Column) -> Column:
    """Whether something that was received then can have happened at that time."""
    earliest = received_at - F.expr(f"INTERVAL {BEHIND_MAX_DAYS} DAYS")
    latest = received_at + F.expr(f"INTERVAL {AHEAD_MAX_MINUTES} MINUTES")
    return at.between(earliest, latest)


def _repeats(rows: DataFrame) -> DataFrame:
    """Places of rows that have the same key as one that came before."""
    several = _keyed(rows).groupBy(_HASH).count().where("count > 1").select(_HASH)
    suspects = _keyed(rows).join(F.broadcast(several), on=_HASH, how="left_semi")
    by_arrival = Window.partitionBy(*_KEY).orderBy("received_at", *_PLACE)
    ranked = suspects.withColumn(_RANK, F.row_number().over(by_arrival))
    return ranked.where(F.col(_RANK) > 1).select(*_PLACE)


def _repeats_of(known: DataFrame, rows: DataFrame) -> DataFrame:
    """Places of rows that have the same key as one that is known."""
    met = _keyed(known).join(_keyed(rows), on=_HASH, how="left_semi").select(*_KEY)
    return _keyed(rows).join(F.broadcast(met), on=list(_KEY), how="left_semi").select(*_PLACE)


def _keyed(rows: DataFrame) -> DataFrame:
    boot, sequence = (F.coalesce(name, F.lit(0)) for name in ("boot", "sequence"))
    where = F.when(sequence == 0, F.concat_ws(" ", *_PLACE)).otherwise(F.lit(""))
    keyed = rows.select(
        "received_at",
        *_PLACE,
        "reporter",
        boot.alias("boot"),
        sequence.alias("sequence"),
        where.alias(_WHERE),
    )
    return keyed.withColumn(_HASH, F.xxhash64(*_KEY))
