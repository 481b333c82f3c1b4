"""Edges of the mesh, by DuckDB, in another way: day and pair are cut at every time that anything
changes, and pieces at the same costs are put together again."""


def sql() -> str:
    """Rows of facts/topology_edges from clean.record_changes."""
    return """
    WITH heard AS (
        SELECT * EXCLUDE (date), CAST(date + extra AS DATE) AS date,
            [epoch, number, coalesce(is_withdrawn, false)::BIGINT] AS version
        FROM clean.record_changes, (VALUES (0), (1)) days(extra)
    ), newest AS (
        SELECT * FROM heard QUALIFY coalesce(version > max(version) OVER (
            PARTITION BY realm, date, node ORDER BY "at", version
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true)
    ), held AS (
        SELECT *, least("at" + to_seconds(least(coalesce(lifetime_s, 0), 86400)), lead("at") OVER (
            PARTITION BY realm, date, node ORDER BY "at", version)) AS until
        FROM newest
    ), claims AS (
        SELECT realm, date, node, link.peer AS peer, greatest("at", date::TIMESTAMPTZ) AS from_at,
            least(until, (date + 1)::TIMESTAMPTZ) AS to_at, link.cost_us AS cost_us
        FROM (SELECT *, unnest(links) AS link FROM held WHERE version[3] = 0)
        WHERE from_at < to_at AND link.peer <> node
    ), ends AS (
        SELECT realm, date, least(node, peer) AS a, greatest(node, peer) AS b, node < peer AS is_a,
            from_at, to_at, cost_us
        FROM claims
    ), times AS (
        SELECT realm, date, a, b, from_at AS "at" FROM ends
        UNION SELECT realm, date, a, b, to_at FROM ends
    ), pieces AS (
        SELECT *, lead("at") OVER (PARTITION BY realm, date, a, b ORDER BY "at") AS until FROM times
    ), priced AS (
        SELECT realm, date, a, b, "at", until,
            min(cost_us) FILTER (is_a) AS cost_ab_us, min(cost_us) FILTER (NOT is_a) AS cost_ba_us
        FROM pieces JOIN ends USING (realm, date, a, b)
        WHERE from_at <= "at" AND to_at >= until GROUP BY ALL
        HAVING bool_or(is_a) AND bool_or(NOT is_a)
    ), numbered AS (
        SELECT *, CASE WHEN lag(until) OVER one = "at"
            AND lag(cost_ab_us) OVER one IS NOT DISTINCT FROM cost_ab_us
            AND lag(cost_ba_us) OVER one IS NOT DISTINCT FROM cost_ba_us THEN 0 ELSE 1 END AS begins
        FROM priced WINDOW one AS (PARTITION BY realm, date, a, b ORDER BY "at")
    ), stretches AS (
        SELECT *, sum(begins) OVER (PARTITION BY realm, date, a, b ORDER BY "at") AS stretch
        FROM numbered
    )
    SELECT realm, a, b, min("at") AS from_at, max(until) AS to_at,
        any_value(cost_ab_us) AS cost_ab_us, any_value(cost_ba_us) AS cost_ba_us, date
    FROM stretches GROUP BY realm, date, a, b, stretch
    """
