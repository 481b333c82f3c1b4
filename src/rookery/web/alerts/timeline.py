"""The strip above the incidents: the last day, with a bar for each alert, in as few lanes as go."""

from collections.abc import Sequence

import msgspec

from rookery.store.alerts.alert import Alert

SPAN_S = 24 * 3600.0
WIDTH = 1000  # units of the picture
ROWS_MAX = 6
BAR_MIN = 4
ROW_HEIGHT = 14
TICKS = 6

_GAP = 3


class AlertTimelineBar(msgspec.Struct, frozen=True, kw_only=True):
    """One alert, in units of the picture."""

    alert: Alert
    x: float
    y: float
    width: float


class AlertTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of it; `ticks` are wall seconds, the first at its left end, the last now."""

    bars: list[AlertTimelineBar]
    height: int
    ticks: list[float]
    omitted: int  # that there was no lane for


def alert_timeline(alerts: Sequence[Alert], now: float) -> AlertTimeline:
    """Of those that touch the last day."""
    start = now - SPAN_S
    ends: list[float] = []  # of each lane, as far as it is taken
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
