"""Size and freshness of the lake."""

import msgspec

from rookery.web.insights.lake_reader import HubLakeReader


class LakeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Size and freshness of the lake, from its tables' logs."""

    tables: int
    rows: int  # that landed
    size_bytes: int
    landed_at: float | None  # the last time that something did
    computed_at: float | None  # the last time that insights were made
    newest: str  # day that insights reach up to, `2026-03-02`
    behind: int  # tables with something new to take in
    run: str  # that made the newest insights


async def lake_summary(lake: HubLakeReader) -> LakeSummary:
    """An empty lake has no tables; LakeAwayError when it cannot be read."""
    tables = (await lake.freshness()).values()
    landing = [each for each in tables if each.path.startswith("landing/")]
    insights = [each for each in tables if each.path.startswith("insights/") and each.run]
    last = max(insights, key=lambda each: each.changed_at, default=None)
    return LakeSummary(
        tables=len(tables),
        rows=sum(each.rows for each in landing),
        size_bytes=sum(each.size for each in tables),
        landed_at=max((each.changed_at for each in landing), default=None),
        computed_at=None if last is None else last.changed_at,
        newest=max((each.last for each in insights), default=""),
        behind=sum(bool(each.behind) for each in tables),
        run="" if last is None else last.run,
    )
