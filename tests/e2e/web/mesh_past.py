"""A lake that remembers a mesh: two days of what its links were, one of them bad for an hour.

   two days ago        yesterday                     now
───┼───────────────────┼──────┬ SLOW ─┬──────────────┤     each link at NORMAL_MS otherwise
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from rookery.lake.engine.delta import Lake
from rookery.lake.schema import facts
from rookery.lake.schema.table import Table

NORMAL_MS = 12
SLOW_MS = 260
EVERY = timedelta(minutes=10)
REALM = "ab" * 16

Pair = tuple[str, str]


class Past:
    """What was written, for tests to ask for."""

    def __init__(self, now: datetime) -> None:
        self.until = now.replace(minute=0, second=0, microsecond=0)
        self.since = self.until - timedelta(days=2)
        self.slow_from = self.until - timedelta(hours=20)
        self.slow_to = self.slow_from + timedelta(hours=1)

    def rtt_ms(self, at: datetime, *, is_bad: bool) -> int:
        return SLOW_MS if is_bad and self.slow_from <= at < self.slow_to else NORMAL_MS


def written(folder: Path, pairs: Sequence[Pair], bad: Pair) -> Past:
    """A past of these links, both ways, in a new lake; the bad one was slow for an hour."""
    past, lake = Past(datetime.now(UTC)), Lake(str(folder))
    ordered = [(min(pair), max(pair)) for pair in pairs]
    days = [(past.since + timedelta(days=n)).date() for n in range(3)]
    midnights = [datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days]
    edges = [
        {"realm": REALM, "a": a, "b": b, "date": start.date(), "cost_ab_us": 6000,
         "cost_ba_us": 6000, "from_at": max(start, past.since),
         "to_at": min(start + timedelta(days=1), past.until)}
        for start in midnights for a, b in ordered
    ]  # fmt: skip
    _append(lake, facts.TOPOLOGY_EDGES, edges)
    moments = [past.since + n * EVERY for n in range((past.until - past.since) // EVERY)]
    samples = [
        _sample(past, at, number, ends, is_bad={*ends} == {*bad})
        for at in moments
        for number, pair in enumerate(ordered)
        for ends in (pair, pair[::-1])
    ]
    _append(lake, facts.LINK_SAMPLES, samples)
    return past


def _sample(
    past: Past, at: datetime, number: int, ends: Pair, *, is_bad: bool
) -> dict[str, object]:
    rtt_us = 1000 * past.rtt_ms(at, is_bad=is_bad)
    node, peer = ends
    return {
        **{"reporter": node[:12], "boot": 1, "sequence": int(at.timestamp()), "number": number},
        **{"at": at, "realm": REALM, "node": node, "peer": peer, "path": "udp4"},
        **{"rtt_us": rtt_us, "loss_in_ppm": 0, "loss_out_ppm": 0, "loss_ppm": 0},
        **{"rate_bps": 8_000_000, "cost_us": rtt_us // 2, "is_up": True, "date": at.date()},
    }


def _append(lake: Lake, table: Table, rows: list[dict[str, object]]) -> None:
    lake.append(table, pa.Table.from_pylist(rows, schema=table.arrow), (), {})
