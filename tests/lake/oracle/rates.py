"""What interfaces carried, by DuckDB."""

_NAMES = ("received_bytes", "sent_bytes", "received_packets", "sent_packets", "errors", "drops")


def sql() -> str:
    """Rows of facts/device_rates from clean.device_reports."""
    is_fall = [f"(s.{name} < base.{name})" for name in _NAMES]
    is_reset = [
        f"(s.{name} < base.{name} AND NOT (base.{name} < 4294967296"
        f" AND 4294967296 - base.{name} + s.{name} <= 2147483648))"
        for name in _NAMES
    ]
    carried = [
        f"CASE WHEN is_reset THEN s.{name}"
        f" WHEN s.{name} < base.{name} THEN 4294967296 - base.{name} + s.{name}"
        f" ELSE s.{name} - base.{name} END AS {name}"
        for name in _NAMES
    ]
    return f"""
    WITH samples AS (
        SELECT reporter, boot, sequence, "at", date, unnest(interfaces) AS s
        FROM clean.device_reports
    ), ordered AS (
        SELECT *, s.name AS interface,
            lag({{'sequence': sequence, 'at': "at", 's': s}}, 1) OVER one AS first,
            lag({{'sequence': sequence, 'at': "at", 's': s}}, 2) OVER one AS second
        FROM samples
        WINDOW one AS (PARTITION BY reporter, boot, s.name ORDER BY "at", sequence)
    ), chosen AS (
        SELECT *, CASE WHEN first.sequence < second.sequence
                AND first.at - second.at <= INTERVAL 1 HOUR THEN second ELSE first END AS b
        FROM ordered
    ), paired AS (
        SELECT *, b.s AS base, epoch_us("at") - epoch_us(b.at) AS span_us
        FROM chosen WHERE sequence > b.sequence AND "at" - b.at <= INTERVAL 23 HOUR
    ), judged AS (
        SELECT *, coalesce({" OR ".join(is_reset)}, false) AS is_reset,
            coalesce({" OR ".join(is_fall)}, false) AS has_fallen
        FROM paired
    ), counted AS (
        SELECT reporter, boot, interface, sequence, b.at AS since, "at", span_us,
            {", ".join(carried)}, is_reset, has_fallen AND NOT is_reset AS is_wrapped, date
        FROM judged
    )
    SELECT * FROM counted WHERE greatest({", ".join(_NAMES)})
        <= 137438953472 * greatest(1, ceil(span_us / 1000000))
    """
