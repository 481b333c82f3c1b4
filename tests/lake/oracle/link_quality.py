"""Links by hour of the week, by DuckDB: every sample of a histogram by itself, in order."""


def sql() -> str:
    """Rows of insights/link_quality but for their lineage, from facts.link_hours."""
    quantiles = ", ".join(
        f"all_steps[(len(all_steps) * {each} + 99) // 100] AS p{each}" for each in (50, 95, 99)
    )
    bounds = ", ".join(
        f"(ceil((21::DOUBLE / 20) ** (p{each} + 1)) - 1)::BIGINT AS rtt_p{each}_us"
        for each in (50, 95, 99)
    )
    return f"""
    WITH placed AS (
        SELECT *, (dayofweek(hour) + 6) % 7 * 24 + hour(hour) AS hour_of_week FROM facts.link_hours
    ), links AS (
        SELECT realm, node, peer, hour_of_week, count(*) AS weeks, sum(samples)::BIGINT AS samples,
            list_sort(flatten(list(flatten(list_transform(rtt_histogram,
                lambda step: list_resize([step.bucket], step.count, step.bucket)))))) AS all_steps,
            sum(loss_ppm_sum)::BIGINT AS lost, sum(loss_samples)::BIGINT AS loss_samples,
            sum(up_samples)::BIGINT AS up_samples
        FROM placed GROUP BY ALL
    ), ranked AS (SELECT *, {quantiles} FROM links)
    SELECT realm, node, peer, hour_of_week, weeks, samples, {bounds},
        CASE WHEN loss_samples > 0
            THEN lost::DOUBLE / (loss_samples * 1000000)::DOUBLE END AS loss,
        CASE WHEN samples > 0 THEN up_samples::DOUBLE / samples::DOUBLE END AS up_share
    FROM ranked
    """
