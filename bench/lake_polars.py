"""The work of `lake_work` as somebody who likes Polars would write it; checked by counting rows."""

from collections.abc import Callable, Mapping

import polars as pl

from rookery.lake.facts.rates import A_SECOND_MAX, COUNTERS
from rookery.lake.facts.uptime import GAP_MAX_S

Frames = Mapping[str, pl.LazyFrame]

_REPORTS = "clean/device_reports"
_SERIES = ("reporter", "boot", "interface")
_BYTES = COUNTERS[:4]
_WRAP, _HALF = 1 << 32, 1 << 31
_MINUTE_MS = 60_000


def clean(frames: Frames) -> pl.LazyFrame:
    rows = frames["landing/device_reports"].filter(_is_sound()).drop("date")
    at, received_at = pl.col("at"), pl.col("received_at")
    is_off = ~at.is_between(
        received_at - pl.duration(days=30), received_at + pl.duration(minutes=5)
    )
    wrong = is_off.fill_null(False)
    rows = rows.with_columns(
        pl.when(at.is_null() | wrong).then(received_at).otherwise(at).alias("at"),
        wrong.alias("clock_wrong"),
    ).with_columns(pl.col("at").dt.date().alias("date"))
    place = pl.struct("received_at", "spool", "position")
    is_first = place.rank("ordinal").over("reporter", "boot", "sequence") == 1
    return rows.filter((pl.col("sequence").fill_null(0) == 0) | is_first)


def _is_sound() -> pl.Expr:
    def between(name: str, low: float, high: float) -> pl.Expr:
        return pl.col(name).fill_null(0).is_between(low, high)

    each = pl.element().struct
    interface = (each.field("name").fill_null("") == "") | pl.min_horizontal(
        *(each.field(name) for name in COUNTERS)
    ).lt(0).fill_null(False)
    link = (
        (each.field("peer").fill_null("") == "")
        | ~each.field("rtt_ms").fill_null(0).is_between(0, 1e9)
        | ~each.field("rate_kbps").fill_null(0).is_between(0, 1e15)
        | ~each.field("loss").fill_null(0).is_between(0, 1)
    )
    bad = [
        pl.col(name).list.eval(rule).list.any().fill_null(False)
        for name, rule in (("interfaces", interface), ("links", link))
    ]
    return pl.all_horizontal(
        pl.col("reporter").fill_null("") != "",
        pl.col("boot").fill_null(0) >= 0,
        pl.col("sequence").fill_null(0) >= 0,
        between("up_s", 0, 1e15),
        between("load", 0, 1e15),
        between("mem", 0, 1),
        between("disk", 0, 1),
        between("temp", -300, 1000),
        pl.col("dropped").fill_null(0) >= 0,
        *(~each for each in bad),
    )


def rates(frames: Frames) -> pl.LazyFrame:
    samples = (
        frames[_REPORTS]
        .select("reporter", "boot", "sequence", "at", "date", "interfaces")
        .explode("interfaces")
        .unnest("interfaces")
        .rename({"name": "interface"})
        .sort(*_SERIES, "at", "sequence")
    )
    values = pl.struct("sequence", "at", *COUNTERS)
    first, second = (values.shift(number).over(_SERIES) for number in (1, 2))
    samples = samples.with_columns(first.alias("first"), second.alias("second"))
    is_stray = (_of("first", "sequence") < _of("second", "sequence")) & (
        _of("first", "at") - _of("second", "at") <= pl.duration(hours=1)
    )
    base = pl.when(is_stray).then(pl.col("second")).otherwise(pl.col("first"))
    paired = samples.with_columns(base.alias("base")).filter(
        (pl.col("sequence") > _of("base", "sequence"))
        & (pl.col("at") - _of("base", "at") <= pl.duration(hours=23))
    )
    return _carried(paired)


def _carried(paired: pl.LazyFrame) -> pl.LazyFrame:
    fell = {name: pl.col(name) < _of("base", name) for name in COUNTERS}
    wraps = {
        name: (_of("base", name) < _WRAP) & (pl.col(name) - _of("base", name) + _WRAP <= _HALF)
        for name in COUNTERS
    }
    is_reset = pl.any_horizontal(*(fell[name] & ~wraps[name] for name in COUNTERS))
    paired = paired.with_columns(
        is_reset.fill_null(False).alias("is_reset"),
        pl.any_horizontal(*fell.values()).fill_null(False).alias("has_fallen"),
    )
    grown = {name: pl.col(name) - _of("base", name) for name in COUNTERS}
    span_us = (pl.col("at") - _of("base", "at")).dt.total_microseconds()
    rows = paired.select(
        *_SERIES,
        "sequence",
        _of("base", "at").alias("since"),
        "at",
        span_us.alias("span_us"),
        *(
            pl.when(pl.col("is_reset"))
            .then(pl.col(name))
            .otherwise(grown[name] + pl.when(fell[name]).then(_WRAP).otherwise(0))
            .alias(name)
            for name in COUNTERS
        ),
        "is_reset",
        (pl.col("has_fallen") & ~pl.col("is_reset")).alias("is_wrapped"),
        "date",
    )
    seconds = pl.max_horizontal(1, (pl.col("span_us") / 1_000_000).ceil().cast(pl.Int64))
    return rows.filter(pl.max_horizontal(*COUNTERS) <= seconds * A_SECOND_MAX)


def _of(name: str, field: str) -> pl.Expr:
    return pl.col(name).struct.field(field)


def uptime(frames: Frames) -> pl.LazyFrame:
    series = ("reporter", "boot")
    rows = frames[_REPORTS].select(*series, "at", "date").sort(*series, "at")
    before = pl.col("at").shift(1).over(series)
    rows = rows.with_columns(before.alias("before"))
    gap = pl.col("at") - pl.col("before")
    follows = (gap <= pl.duration(seconds=GAP_MAX_S)).fill_null(False)
    is_next_day = follows & (pl.col("before").dt.date() < pl.col("date"))
    rows = rows.with_columns(is_next_day.alias("is_continued"), follows.alias("follows"))
    begins = (~pl.col("follows") | pl.col("is_continued")).cast(pl.Int64)
    rows = rows.with_columns(begins.cum_sum().over(series).alias("stretch"))
    start = pl.when(pl.col("is_continued")).then(pl.col("before")).otherwise(pl.col("at"))
    return (
        rows.group_by(*series, "stretch")
        .agg(
            start.min().alias("from_at"),
            pl.col("at").max().alias("to_at"),
            pl.len().alias("reports"),
            pl.col("is_continued").max(),
            pl.col("date").min(),
        )
        .with_columns((pl.col("to_at") - pl.col("from_at")).dt.total_microseconds().alias("up_us"))
        .drop("stretch")
    )


def minutes(frames: Frames) -> pl.LazyFrame:
    since, until, number = pl.col("since_ms"), pl.col("until_ms"), pl.col("number")
    spans = frames["facts/device_rates"].select(
        pl.col("reporter").alias("device"),
        "interface",
        *_BYTES,
        pl.col("since").dt.timestamp("ms").alias("since_ms"),
        pl.col("at").dt.timestamp("ms").alias("until_ms"),
    )
    last = pl.when(until > since).then(until - 1).otherwise(until) // _MINUTE_MS
    parts = spans.with_columns(
        pl.int_ranges(since // _MINUTE_MS, last + 1).alias("number")
    ).explode("number")
    start = pl.max_horizontal(since, number * _MINUTE_MS)
    end = pl.min_horizontal(until, (number + 1) * _MINUTE_MS)
    length = pl.max_horizontal(until - since, 1)

    def passed(name: str, elapsed: pl.Expr) -> pl.Expr:
        total = pl.col(name)
        return total // length * elapsed + (total % length) * elapsed // length

    parts = parts.select(
        "device",
        "interface",
        "number",
        (end - start).alias("covered_ms"),
        *(
            pl.when(until > since)
            .then(passed(name, end - since) - passed(name, start - since))
            .otherwise(pl.col(name))
            .alias(name)
            for name in _BYTES
        ),
    )
    totals = parts.group_by("device", "interface", "number").sum()
    minute = pl.from_epoch(pl.col("number") * 60, time_unit="s").dt.replace_time_zone("UTC")
    return _described(totals.with_columns(minute.alias("minute")).drop("number"), "minute")


def longer(unit: str, every: str, frames: Frames) -> pl.LazyFrame:
    rows = frames["insights/traffic_minutes"]
    peaks = [
        (pl.col(f"{direction}_bytes").max() * 8 / 60).alias(f"{direction}_peak_bps")
        for direction in ("received", "sent")
    ]
    start = pl.col("minute").dt.truncate(every).alias(unit)
    totals = rows.group_by("device", "interface", start).agg(
        *(pl.col(name).sum() for name in ("covered_ms", *_BYTES)), *peaks
    )
    return _described(totals, unit)


def _described(totals: pl.LazyFrame, start: str) -> pl.LazyFrame:
    speeds = [
        pl.when(pl.col("covered_ms") > 0)
        .then(pl.col(f"{direction}_bytes") * 8000.0 / pl.col("covered_ms"))
        .alias(f"{direction}_bps")
        for direction in ("received", "sent")
    ]
    return totals.with_columns(*speeds, pl.col(start).dt.date().alias("date"))


FRAMES: dict[str, Callable[[Frames], pl.LazyFrame]] = {
    "clean/device_reports": clean,
    "facts/device_rates": rates,
    "facts/uptime_intervals": uptime,
    "insights/traffic_minutes": minutes,
    "insights/traffic_hours": lambda frames: longer("hour", "1h", frames),
    "insights/traffic_days": lambda frames: longer("day", "1d", frames),
}
