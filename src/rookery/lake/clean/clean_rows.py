"""Clean: believe or refuse what landed, put its time right, and keep each observation once.

    landing ─┬─ fresh ─────────────▶ clean        sound rows, less what is there already
             └─ judged ─ rejected ─▶ quarantine   with the first rule that a row breaks

An observation is known by its lineage (reporter, boot, sequence), and where it has no sequence, or
0, by its place in the spool. Of several with one lineage that which came first counts, whether it
is sound or not: the others are the same once more. Repeats are few and rows are wide: repeats are
looked for among hashes of keys, and only they are joined with the rows, which are never shuffled.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from rookery.lake.clean import validation
from rookery.lake.clean.rules import rules
from rookery.lake.engine.step import REASON
from rookery.lake.schema import quarantine
from rookery.lake.schema.table import DATE, Table

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
    """Rows in landing with the columns of a table in clean, and a mark at those that are refused.

    A refused row stays as it came; which rule it breaks is asked only then (see `rejected`), since
    to ask it of all rows is more than Spark compiles.
    """
    reason = F.when(~validation.is_sound(rules(table)), F.lit("breaks a rule"))
    timed = {name: F.when(F.col(REASON).isNull(), value) for name, value in _times().items()}
    raw = {name: F.coalesce(timed[name], F.col(name)) for name in ("at", DATE)}
    rows = landed.withColumn(REASON, reason)
    return rows.withColumns({**timed, **raw}).select(*table.arrow.names, REASON)


def rejected(table: Table, refused: DataFrame) -> DataFrame:
    """Judged rows that are refused, as quarantine keeps them, with the first rule they break.

    They are few: sent elsewhere first, so that to pick them and to describe them are two stages, of
    which each is short enough to be compiled.
    """
    landed = [name for name in table.arrow.names if name != _CLOCK_WRONG]
    content = F.encode(F.to_json(F.struct(*landed)), "UTF-8")
    added = {
        "kind": F.lit(table.name),
        "content": content,
        "source": F.col("spool"),
        "reason": validation.reason(rules(table)),
    }
    few = refused.repartition("reporter")
    return few.withColumns(added).select(*quarantine.OBSERVATIONS.arrow.names)


def fresh(table: Table, landed: DataFrame, known: DataFrame) -> DataFrame:
    """Rows of a table in clean: what landed and is sound, less what repeats others or the known."""
    repeats = _repeats(landed).unionByName(_repeats_of(known, landed))
    sound = landed.where(validation.is_sound(rules(table)))
    rows = sound.join(F.broadcast(repeats), on=list(_PLACE), how="left_anti")
    return rows.withColumns(_times()).select(*table.arrow.names)


def _times() -> dict[str, Column]:
    """`at` in the lake's time, its date, and whether the reporter's own cannot be."""
    at, received_at = F.col("at"), F.col("received_at")
    earliest = received_at - F.expr(f"INTERVAL {BEHIND_MAX_DAYS} DAYS")
    latest = received_at + F.expr(f"INTERVAL {AHEAD_MAX_MINUTES} MINUTES")
    can_be = at.between(earliest, latest)
    believed = F.when(can_be, at).otherwise(received_at)
    is_wrong = F.coalesce(~can_be, F.lit(False))
    return {_CLOCK_WRONG: is_wrong, "at": believed, DATE: F.to_date(believed)}


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
