"""Clean rows: validate what landed, correct its time, and keep each observation once.

    landing ─┬─ fresh ─────────────▶ clean        sound rows, less what is there already
             └─ judged ─ rejected ─▶ quarantine   with the first rule that a row breaks

The key of an observation is (reporter, boot, sequence); without a sequence, or with 0, it is the
place in the spool. Of several rows with one key the first to arrive counts, sound or not: the
others repeat it. Repeats are few and rows are wide, so repeats are looked for among hashes of keys
and only their places are joined with the rows, which are never shuffled.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.clean import validation
from rookery.lake.clean.rules import rules
from rookery.lake.engine.step import REASON
from rookery.lake.schema import quarantine
from rookery.lake.schema.table import DATE, Table

BEHIND_MAX_DAYS = 30
AHEAD_MAX_MINUTES = 5

# A repeat has the date of the original unless a clock was wrong; it is recognised for so long.
LOOKBACK_DAYS = 2

_CLOCK_WRONG = "clock_wrong"
_PLACE = ("spool", "position")
_WHERE = "_where"
_KEY = ("reporter", "boot", "sequence", _WHERE)
_HASH = "_hash"
_RANK = "_rank"


def judged(table: Table, landing: DataFrame) -> DataFrame:
    """Rows of landing with the columns of a table in clean, and REASON set where a rule is broken.

    A bad row keeps its values. Which rule it breaks is found out for bad rows only (see
    `rejected`): the expression for all rows would be longer than Spark compiles.
    """
    reason = F.when(~validation.is_sound(rules(table)), F.lit("breaks a rule"))
    timed = {name: F.when(F.col(REASON).isNull(), value) for name, value in _times().items()}
    raw = {name: F.coalesce(timed[name], F.col(name)) for name in ("at", DATE)}
    rows = landing.withColumn(REASON, reason)
    return rows.withColumns({**timed, **raw}).select(*table.arrow.names, REASON)


def rejected(table: Table, bad: DataFrame) -> DataFrame:
    """Bad rows as quarantine keeps them, with the first rule that each breaks.

    They are repartitioned first, so that filtering and describing them are two stages, each short
    enough for Spark to compile.
    """
    columns = [name for name in table.arrow.names if name != _CLOCK_WRONG]
    content = F.encode(F.to_json(F.struct(*columns)), "UTF-8")
    added = {
        "kind": F.lit(table.name),
        "content": content,
        "source": F.col("spool"),
        "reason": validation.reason(rules(table)),
    }
    few = bad.repartition("reporter")
    return few.withColumns(added).select(*quarantine.OBSERVATIONS.arrow.names)


def fresh(table: Table, landing: DataFrame, known: DataFrame) -> DataFrame:
    """Rows of a table in clean: sound rows of landing that repeat neither others nor known rows."""
    repeats = _repeats(landing).unionByName(_repeats_of(known, landing))
    sound = landing.where(validation.is_sound(rules(table)))
    rows = sound.join(F.broadcast(repeats), on=list(_PLACE), how="left_anti")
    return rows.withColumns(_times()).select(*table.arrow.names)


def _times() -> dict[str, Column]:
    """`at` by a clock that can be right (else when it was received), its date, and a mark."""
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
    repeated = _keyed(known).join(_keyed(rows), on=_HASH, how="left_semi").select(*_KEY)
    return _keyed(rows).join(F.broadcast(repeated), on=list(_KEY), how="left_semi").select(*_PLACE)


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
