"""The timeline above the incidents: a bar for each alert of the last day, in few rows."""

from collections.abc import Sequence

import msgspec

from rookery.store.alerts.alert import Alert

SPAN_S = 24 * 3600.0
WIDTH = 1000  # units of the SVG
ROWS_MAX = 6
BAR_MIN = 4
ROW_HEIGHT = 14
TICKS = 6

_GAP = 3


class AlertTimelineBar(msgspec.Struct, frozen=True, kw_only=True):
    """One alert, in units of the SVG."""

    alert: Alert
    x: float
    y: float
    width: float


class AlertTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The bars; `ticks` are Unix times, from the left end to now."""

    bars: list[AlertTimelineBar]
    height: int
    ticks: list[float]
    omitted: int  # for lack of rows


def alert_timeline(alerts: Sequence[Alert], now: float) -> AlertTimeline:
    """The alerts that overlap the last day."""
    start = now - SPAN_S
    ends: list[float] = []  # of the last bar of each row
    bars, omitted = [], 0
    for alert in sorted(alerts, key=lambda each: each.since):
        until = now if alert.until is None else alert.until
        if until < start:
            continue
        x = max(0.0, (alert.since - start) / SPAN_S * WIDTH)
        width = max(BAR_MIN, (until - start) / SPAN_S * WIDTH - x)
        x = min(x, WIDTH - width)
        row = next((row for row, end in enumerate(ends) if end <= x), len(ends))
        if row == ROWS_MAX:
            omitted += 1
            continue
        ends[row:] = [x + width + _GAP, *ends[row + 1 :]]
        bars.append(
            AlertTimelineBar(alert=alert, x=round(x, 1), y=row * ROW_HEIGHT, width=round(width, 1))
        )
    ticks = [start + SPAN_S * number / TICKS for number in range(TICKS + 1)]
    return AlertTimeline(
        bars=bars, height=max(1, len(ends)) * ROW_HEIGHT, ticks=ticks, omitted=omitted
    )
