"""Availability of devices, by DuckDB: how many of their boots report at each moment."""

PIECES = """
    WITH pieces AS (
        SELECT reporter, boot, day::DATE AS day,
            greatest(epoch_us(from_at), epoch_us(day)) AS start_us,
            least(epoch_us(to_at), epoch_us(day) + 86400000000) AS end_us
        FROM facts.uptime_intervals,
            unnest(generate_series(
                from_at::DATE::TIMESTAMP, to_at::DATE::TIMESTAMP, INTERVAL 1 DAY)) AS days(day)
    ), ends AS (
        SELECT day, max(end_us) AS until_us FROM pieces GROUP BY day
    ), expected AS (
        SELECT seen.reporter, ends.day, until_us,
            CASE WHEN bool_or(seen.day < ends.day) THEN epoch_us(ends.day::TIMESTAMP)
                ELSE min(start_us) END AS since_us
        FROM ends JOIN pieces seen ON seen.day BETWEEN ends.day - 7 AND ends.day
        GROUP BY seen.reporter, ends.day, until_us
    ), starts AS (
        SELECT *, coalesce(day - lag(day) OVER same <= 7, false) AS is_known,
            coalesce(day - lag(day) OVER any_start <= 7 AND lag(boot) OVER any_start <> boot, false)
                AS is_reboot
        FROM pieces
        WINDOW same AS (PARTITION BY reporter, boot ORDER BY start_us, end_us),
            any_start AS (PARTITION BY reporter ORDER BY start_us, end_us, boot)
    ), moments AS (
        SELECT reporter, day, start_us AS t, 1 AS change FROM pieces
        UNION ALL SELECT reporter, day, end_us, -1 FROM pieces
        UNION ALL SELECT reporter, day, since_us, 0 FROM expected
        UNION ALL SELECT reporter, day, until_us, 0 FROM expected
    ), steps AS (
        SELECT reporter, day, t,
            sum(change) OVER (one ROWS UNBOUNDED PRECEDING) AS present,
            lead(t) OVER one AS until
        FROM moments
        WINDOW one AS (PARTITION BY reporter, day ORDER BY t, change DESC)
    ), gaps AS (
        SELECT reporter, day, t AS from_us, until AS to_us FROM steps
        WHERE present = 0 AND until > t
    )
"""


def outages_sql() -> str:
    """Rows of insights/outages but for their lineage."""
    return f"""{PIECES}
    SELECT gaps.reporter AS device, make_timestamptz(from_us) AS from_at,
        make_timestamptz(to_us) AS to_at, to_us - from_us AS lasted_us,
        coalesce(first(is_reboot ORDER BY starts.end_us, starts.boot)
            FILTER (starts.boot IS NOT NULL), false) AS is_reboot,
        count(starts.boot) = 0 AS is_open, gaps.day AS date
    FROM gaps LEFT JOIN starts
        ON starts.reporter = gaps.reporter AND starts.day = gaps.day AND start_us = to_us
    WHERE to_us - from_us > 65000000
    GROUP BY ALL
    """


def sql() -> str:
    """Rows of insights/availability but for their lineage."""
    return f"""{PIECES}
    , absences AS (
        SELECT reporter, day, sum(to_us - from_us)::BIGINT AS absent_us,
            count(*) FILTER (to_us - from_us > 65000000) AS outages,
            coalesce(max(to_us - from_us) FILTER (to_us - from_us > 65000000), 0) AS longest
        FROM gaps GROUP BY reporter, day
    ), boots AS (
        SELECT reporter, day, count(*) FILTER (is_reboot AND NOT is_known) AS reboots
        FROM starts GROUP BY reporter, day
    )
    SELECT reporter AS device, until_us - since_us - coalesce(absent_us, 0) AS present_us,
        until_us - since_us AS expected_us,
        CASE WHEN until_us > since_us
            THEN present_us::DOUBLE / expected_us::DOUBLE END AS share,
        coalesce(outages, 0) AS outages, coalesce(longest, 0) AS longest_outage_us,
        coalesce(reboots, 0) AS reboots, day AS date
    FROM expected LEFT JOIN absences USING (reporter, day) LEFT JOIN boots USING (reporter, day)
    """


def weeks_sql() -> str:
    """Rows of insights/availability_weeks but for their lineage, from insights.availability."""
    return """
    SELECT device, date_trunc('week', date)::DATE AS week, count(*) AS days,
        sum(present_us)::BIGINT AS present_us, sum(expected_us)::BIGINT AS expected_us,
        CASE WHEN sum(expected_us) > 0
            THEN sum(present_us)::DOUBLE / sum(expected_us)::DOUBLE END AS share,
        sum(outages)::BIGINT AS outages, max(longest_outage_us) AS longest_outage_us,
        sum(reboots)::BIGINT AS reboots, 0.999::DOUBLE AS sla_share,
        sum(present_us)::HUGEINT * 1000 >= sum(expected_us)::HUGEINT * 999 AS is_met
    FROM insights.availability GROUP BY device, week
    """


def sessions_sql() -> str:
    """Rows of insights/uptime_sessions but for their lineage: each joined with what goes on."""
    return """
    WITH RECURSIVE sessions AS (
        SELECT reporter, boot, from_at, to_at, reports FROM facts.uptime_intervals
        WHERE NOT is_continued
        UNION ALL
        SELECT one.reporter, one.boot, one.from_at, next.to_at, one.reports + next.reports
        FROM sessions one JOIN facts.uptime_intervals next
            ON next.reporter = one.reporter AND next.boot = one.boot AND next.is_continued
                AND next.from_at = one.to_at
    )
    SELECT reporter AS device, boot, from_at, max(to_at) AS to_at,
        epoch_us(max(to_at)) - epoch_us(from_at) AS up_us, max(reports) AS reports,
        max(to_at)::DATE - from_at::DATE + 1 AS days
    FROM sessions GROUP BY reporter, boot, from_at
    """
