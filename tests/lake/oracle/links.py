"""Samples and hours of mesh links, by DuckDB."""

from bisect import bisect_right
from fractions import Fraction

_POWERS = [Fraction(21, 20) ** number for number in range(900)]


def _whole(value: str, factor: int) -> str:
    return f"CAST(floor({value} * {factor}.0::DOUBLE + 0.5) AS BIGINT)"


def samples_sql() -> str:
    """Rows of facts/link_samples from clean.device_reports and clean.link_samples."""
    return f"""
    SELECT reporter, boot, sequence, number, "at", '' AS realm, reporter AS node,
        link.peer AS peer, link.path AS path, {_whole("link.rtt_ms", 1000)} AS rtt_us,
        NULL::BIGINT AS jitter_us, NULL::BIGINT AS loss_in_ppm, NULL::BIGINT AS loss_out_ppm,
        {_whole("link.loss", 1_000_000)} AS loss_ppm,
        CASE WHEN link.rate_kbps > 0 THEN {_whole("link.rate_kbps", 1000)} END AS rate_bps,
        NULL::BIGINT AS cost_us, link.loss IS NULL OR link.loss < 1 AS is_up, date
    FROM (SELECT *, unnest(links) AS link, generate_subscripts(links, 1) - 1 AS number
        FROM clean.device_reports)
    UNION ALL
    SELECT reporter, boot, sequence, 0, "at", realm, node, peer, path,
        {_whole("rtt_ms", 1000)}, {_whole("jitter_ms", 1000)},
        {_whole("loss_in", 1_000_000)}, {_whole("loss_out", 1_000_000)},
        greatest({_whole("loss_in", 1_000_000)}, {_whole("loss_out", 1_000_000)}),
        {_whole("rate_kbps", 1000)}, cost_us, is_up, date
    FROM clean.link_samples
    """


def hours_sql() -> str:
    """Rows of facts/link_hours from facts.link_samples."""
    bounds = ", ".join(f"({low}::BIGINT, {bucket})" for low, bucket in _bounds())
    return f"""
    WITH bounds(low, bucket) AS (VALUES {bounds}), placed AS (
        SELECT rtt_us, bucket FROM (
            SELECT DISTINCT rtt_us FROM facts.link_samples WHERE rtt_us IS NOT NULL)
        ASOF JOIN bounds ON greatest(rtt_us, 1) >= bounds.low
    ), hours AS (
        SELECT *, date_trunc('hour', "at") AS hour
        FROM facts.link_samples LEFT JOIN placed USING (rtt_us)
    ), buckets AS (
        SELECT realm, node, peer, hour, list({{'bucket': bucket, 'count': count}} ORDER BY bucket)
            AS rtt_histogram
        FROM (SELECT realm, node, peer, hour, bucket::BIGINT AS bucket, count(*) AS count FROM hours
            WHERE bucket IS NOT NULL GROUP BY ALL)
        GROUP BY ALL
    ), sums AS (
        SELECT realm, node, peer, hour, count(*) AS samples,
            count(*) FILTER (is_up) AS up_samples, count(rtt_us) AS rtt_samples,
            sum(rtt_us) AS rtt_us_sum, min(rtt_us) AS rtt_us_min, max(rtt_us) AS rtt_us_max,
            count(jitter_us) AS jitter_samples, sum(jitter_us) AS jitter_us_sum,
            count(loss_ppm) AS loss_samples, sum(loss_ppm) AS loss_ppm_sum,
            max(loss_ppm) AS loss_ppm_max, max(rate_bps) AS rate_bps_max,
            count(cost_us) AS cost_samples, sum(cost_us) AS cost_us_sum,
            max(cost_us) AS cost_us_max, CAST(hour AS DATE) AS date
        FROM hours GROUP BY ALL
    )
    SELECT sums.*, coalesce(rtt_histogram, []) AS rtt_histogram
    FROM sums LEFT JOIN buckets USING (realm, node, peer, hour)
    """


def bucket(value: int) -> int:
    """The bucket of a whole number, by exact fractions."""
    return bisect_right(_POWERS, max(value, 1)) - 1


def _bounds() -> list[tuple[int, int]]:
    """The least number of each bucket that has any, up to 64 bits."""
    bounds: dict[int, int] = {}
    for number in range(895):
        bounds[-(-(21**number) // 20**number)] = number
    return [each for each in bounds.items() if each[0] < 1 << 63]
