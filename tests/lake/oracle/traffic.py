"""Traffic by DuckDB, whose integers of 128 bits need no care."""

_NAMES = ("received_bytes", "sent_bytes", "received_packets", "sent_packets")


def minutes_sql() -> str:
    """Rows of insights/traffic_minutes but for their lineage, from facts.device_rates."""
    parts = ", ".join(
        f"sum(CASE WHEN till = since THEN {name}"
        f" ELSE {name}::HUGEINT * (least(till, minute + 60000) - since) // (till - since)"
        f" - {name}::HUGEINT * (greatest(since, minute) - since) // (till - since)"
        f" END)::BIGINT AS {name}"
        for name in _NAMES
    )
    return f"""
    WITH spans AS (
        SELECT reporter, interface, epoch_ms(since) AS since, epoch_ms("at") AS till,
            {", ".join(_NAMES)}
        FROM facts.device_rates
    ), minutes AS (
        SELECT spans.*, number * 60000 AS minute FROM spans, unnest(generate_series(
            since // 60000, greatest(since // 60000, CASE WHEN till > since THEN till - 1
                ELSE till END // 60000))) AS numbers(number)
    ), totals AS (
        SELECT reporter, interface, minute,
            sum(least(till, minute + 60000) - greatest(since, minute))::BIGINT AS covered_ms,
            {parts}
        FROM minutes GROUP BY reporter, interface, minute
    )
    SELECT reporter AS device, interface, make_timestamptz(minute * 1000) AS minute, covered_ms,
        {", ".join(_NAMES)}, {_rates()}, make_timestamptz(minute * 1000)::DATE AS date
    FROM totals
    """


def longer_sql(unit: str) -> str:
    """Rows of insights/traffic_hours or _days but for their lineage, from minutes."""
    sums = ", ".join(f"sum({name})::BIGINT AS {name}" for name in ("covered_ms", *_NAMES))
    peaks = ", ".join(
        f"max({direction}_bytes)::DOUBLE * 8 / 60 AS {direction}_peak_bps"
        for direction in ("received", "sent")
    )
    return f"""
    WITH totals AS (
        SELECT device, interface, date_trunc('{unit}', minute)::TIMESTAMPTZ AS {unit},
            {sums}, {peaks}
        FROM insights.traffic_minutes GROUP BY ALL
    )
    SELECT *, {_rates()}, {unit}::DATE AS date FROM totals
    """


def _rates() -> str:
    return ", ".join(
        f"CASE WHEN covered_ms > 0 THEN {direction}_bytes::DOUBLE * 8000 / covered_ms END"
        f" AS {direction}_bps"
        for direction in ("received", "sent")
    )
