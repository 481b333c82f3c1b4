"""Stretches of reports, by DuckDB."""


def sql(gap_max_s: int = 65) -> str:
    """Rows of facts/uptime_intervals from clean.device_reports."""
    return f"""
    WITH ordered AS (
        SELECT reporter, boot, "at", date, lag("at") OVER one AS before,
            coalesce("at" - lag("at") OVER one <= INTERVAL {gap_max_s} SECOND, false) AS follows
        FROM clean.device_reports
        WINDOW one AS (PARTITION BY reporter, boot ORDER BY "at")
    ), numbered AS (
        SELECT *, sum(CASE WHEN follows THEN 0 ELSE 1 END) OVER (
            PARTITION BY reporter, boot ORDER BY "at", follows ROWS UNBOUNDED PRECEDING) AS stretch
        FROM ordered
    ), days AS (
        SELECT reporter, boot, stretch, date, min("at") AS first, max("at") AS to_at,
            count(*) AS reports, arg_min(before, "at") AS before, arg_min(follows, "at") AS follows
        FROM numbered GROUP BY ALL
    )
    SELECT reporter, boot, CASE WHEN is_continued THEN before ELSE first END AS from_at, to_at,
        epoch_us(to_at) - epoch_us(from_at) AS up_us, reports, is_continued, date
    FROM (SELECT *, row_number() OVER (
        PARTITION BY reporter, boot, stretch ORDER BY date) > 1 AS is_continued FROM days)
    """
