"""Hours and sessions, by DuckDB."""

_PPM = "CAST(floor({0} * 1000000.0::DOUBLE + 0.5) AS BIGINT)"
_TOOK = "greatest(0, least(epoch_us({1}) - epoch_us({0}), 31622400000000))"

_MILLI = "CAST(floor({0} * 1000.0::DOUBLE + 0.5) AS BIGINT)"

_SUMS = {
    "device_hours": (
        "device_reports",
        "reporter",
        f"""count(*) AS reports, count("load") AS load_samples,
        sum({_MILLI.format('"load"')}) AS load_milli_sum,
        max({_MILLI.format('"load"')}) AS load_milli_max, count(temp) AS temp_samples,
        sum({_MILLI.format("temp")}) AS temp_milli_sum,
        max({_MILLI.format("temp")}) AS temp_milli_max""",
    ),
    "server_hours": (
        "server_reports",
        "reporter",
        f"""count(*) AS reports, max(seats_max) AS seats_max, sum(seats_used) AS seats_used_sum,
        min(seats_used) AS seats_used_min, max(seats_used) AS seats_used_max,
        sum({_PPM.format("cpu")}) AS cpu_ppm_sum, max({_PPM.format("cpu")}) AS cpu_ppm_max,
        sum({_PPM.format("mem")}) AS mem_ppm_sum, max({_PPM.format("mem")}) AS mem_ppm_max""",
    ),
    "call_hours": (
        "calls",
        "reporter, router, method",
        """count(*) AS calls, count(*) FILTER (code <> 0) AS failures,
        sum(CAST(floor(ms * 1000.0::DOUBLE + 0.5) AS BIGINT)) AS took_us_sum,
        max(CAST(floor(ms * 1000.0::DOUBLE + 0.5) AS BIGINT)) AS took_us_max""",
    ),
    "request_hours": (
        "requests",
        "node, peer, fate",
        f"""count(*) AS requests, sum(size) AS bytes, sum(attempts) AS attempts,
        sum({_TOOK.format("submitted_at", "ended_at")}) AS took_us_sum,
        max({_TOOK.format("submitted_at", "ended_at")}) AS took_us_max""",
    ),
    "message_hours": (
        "messages",
        "theme, publisher, qos",
        "count(*) AS messages, sum(size) AS bytes, max(size) AS bytes_max",
    ),
    "decision_hours": (
        "decisions",
        "realm, source, destination",
        """count(*) AS decisions, count(*) FILTER (len(previous) > 0 AND len(nodes) > 0
            AND previous <> nodes) AS changes, count(*) FILTER (len(nodes) = 0) AS losses,
        max(len(nodes) - 1) FILTER (len(nodes) > 0) AS hops_max,
        min(cost_us) AS cost_us_min, max(cost_us) AS cost_us_max""",
    ),
    "security_hours": (
        "security_events",
        "reporter, event",
        "count(*) AS events, count(DISTINCT address) AS addresses",
    ),
}
HOURS = tuple(_SUMS)


def sql(name: str) -> str:
    """Rows of facts/<name>, from the table in clean that it is made from."""
    source, of, sums = _SUMS[name]
    return f"""
    SELECT {of}, date_trunc('hour', "at") AS hour, {sums}, CAST(hour AS DATE) AS date
    FROM clean.{source} GROUP BY {of}, hour
    """


def sessions_sql() -> str:
    """Rows of facts/sessions from clean.sessions."""
    took = _TOOK.format("opened_at", "closed_at")
    return f"""
    SELECT * REPLACE (ended AS closed_at, ended - to_microseconds(took_us) AS opened_at)
    FROM (SELECT *, {took} AS took_us, coalesce(server, '') <> '' AS is_met,
            CASE WHEN clock_wrong THEN "at" ELSE closed_at END AS ended
        FROM clean.sessions)
    """
