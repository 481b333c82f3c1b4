"""Rows that can be believed, each once: rules written down a second time, as SQL."""

_INTERFACES = """
    AND 0 = len(list_filter(coalesce(interfaces, []), lambda each:
        coalesce(each.name, '') = '' OR coalesce(least(
            each.received_bytes, each.sent_bytes, each.received_packets, each.sent_packets,
            each.errors, each.drops) < 0, false)))
    AND 0 = len(list_filter(coalesce(links, []), lambda each:
        coalesce(each.peer, '') = ''
        OR NOT coalesce(each.rtt_ms, 0) BETWEEN 0 AND 1e9
        OR NOT coalesce(each.rate_kbps, 0) BETWEEN 0 AND 1e15
        OR NOT coalesce(each.loss, 0) BETWEEN 0 AND 1))
"""
_PREDICATES = {
    "device_reports": f"""
        coalesce(up_s, 0) BETWEEN 0 AND 1e15 AND coalesce(load, 0) BETWEEN 0 AND 1e15
        AND coalesce(mem, 0) BETWEEN 0 AND 1 AND coalesce(disk, 0) BETWEEN 0 AND 1
        AND coalesce(temp, 0) BETWEEN -300 AND 1000 AND coalesce(dropped, 0) >= 0
        {_INTERFACES}""",
    "server_reports": """
        seats_max BETWEEN 0 AND 2147483648 AND seats_used BETWEEN 0 AND 2147483648
        AND coalesce(cpu, 0) BETWEEN 0 AND 1 AND coalesce(mem, 0) BETWEEN 0 AND 1""",
    "calls": "router <> '' AND method <> '' AND coalesce(ms, 0) BETWEEN 0 AND 1e9",
    "enrolments": "kind IN ('router', 'server') AND hashname <> ''",
    "security_events": "event <> ''",
    "link_samples": """
        realm <> '' AND node <> '' AND peer <> '' AND is_up IS NOT NULL
        AND coalesce(rtt_ms, 0) BETWEEN 0 AND 1e9 AND coalesce(jitter_ms, 0) BETWEEN 0 AND 1e9
        AND coalesce(rate_kbps, 0) BETWEEN 0 AND 1e15
        AND coalesce(loss_in, 0) BETWEEN 0 AND 1 AND coalesce(loss_out, 0) BETWEEN 0 AND 1
        AND coalesce(cost_us, 0) BETWEEN 0 AND 1000000000000""",
    "record_changes": """
        realm <> '' AND node <> '' AND epoch >= 0 AND number >= 0 AND coalesce(lifetime_s, 0) >= 0
        AND 0 = len(list_filter(coalesce(links, []), lambda each:
            coalesce(each.peer, '') = ''
            OR NOT coalesce(each.cost_us, 0) BETWEEN 0 AND 1000000000000))""",
    "decisions": """
        realm <> '' AND source <> '' AND destination <> '' AND verdict <> ''
        AND coalesce(cost_us, 0) BETWEEN 0 AND 1000000000000 AND coalesce(candidates, 0) >= 0""",
    "sessions": """
        router <> '' AND opened_at IS NOT NULL AND closed_at IS NOT NULL
        AND coalesce(sent_bytes, 0) >= 0 AND coalesce(received_bytes, 0) >= 0""",
    "requests": """
        node <> '' AND peer <> '' AND fate <> '' AND submitted_at IS NOT NULL
        AND ended_at IS NOT NULL AND coalesce(number, 0) >= 0 AND coalesce(attempts, 0) >= 0
        AND coalesce(size, 0) BETWEEN 0 AND 1099511627776""",
    "messages": """
        theme <> '' AND size BETWEEN 0 AND 1099511627776 AND coalesce(qos, 0) BETWEEN 0 AND 2""",
}


def is_sound(name: str) -> str:
    """The rules of a kind, as a predicate that is never null."""
    return f"""coalesce(reporter <> '' AND coalesce(boot, 0) >= 0 AND coalesce(sequence, 0) >= 0
        AND {_PREDICATES[name]}, false)"""


def sql(name: str) -> str:
    """Rows of clean/<name> from landing.<name>."""
    return f"""
    WITH sound AS (
        SELECT * EXCLUDE (date), "at" < received_at - INTERVAL 30 DAY
                OR "at" > received_at + INTERVAL 5 MINUTE AS is_off
        FROM landing.{name} WHERE {is_sound(name)}
    ), timed AS (
        SELECT * EXCLUDE (is_off) REPLACE (
                CASE WHEN "at" IS NULL OR is_off THEN received_at ELSE "at" END AS "at"),
            coalesce(is_off, false) AS clock_wrong
        FROM sound
    )
    SELECT *, CAST("at" AS DATE) AS date FROM timed
    QUALIFY coalesce(sequence, 0) = 0 OR row_number() OVER (
        PARTITION BY reporter, boot, sequence ORDER BY received_at, spool, position) = 1
    """
