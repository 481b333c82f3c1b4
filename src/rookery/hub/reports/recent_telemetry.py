"""Recent telemetry: the last reports of each device, in this hub's memory.

    report ─▶ | at | received | sent | each field that has a chart |   32 of them a device

A point is packed as it comes, into a ring of fixed size: ten thousand devices take 24 MB, where
the reports themselves would take 120. Once all places are taken, a new device gets one only
when a page asks for it, in place of the device that was asked for longest ago: so a fleet far
larger than the table does not replace its contents all the time.
"""

import struct
from collections.abc import Iterable
from math import isfinite, nan
from typing import Final, NamedTuple

from msgspec.structs import astuple

from rookery.fleet.entry import FleetEntry
from rookery.hub.reports.recent_sample import NAMES, UNREADABLE, Interfaces, Row, decode

DEVICES_MAX: Final = 10_000
POINTS_MAX: Final = 32

_NAN: Final = nan
_LOOPBACK: Final = "lo"
_decode: Final = decode
_as_tuple: Final = astuple


class TelemetryPoint(NamedTuple):
    """One report; None: not reported, or a rate that is not known yet."""

    at: float  # wall seconds, when the hub had it
    received: float | None  # bytes a second since the report before
    sent: float | None
    values: dict[str, float | None]  # by the name that charts have for them


_RATES: Final = 3  # numbers of a point before its values
_POINT: Final = struct.Struct(f"<{_RATES + len(NAMES)}d")
_POINT_SIZE: Final = _POINT.size


class _TelemetryRing:
    __slots__ = ("at", "count", "points", "received", "sent", "t", "traffic")

    def __init__(self) -> None:
        self.points = bytearray(_POINT_SIZE * POINTS_MAX)
        self.count = 0  # of all that ever came
        self.at = 0.0  # of the newest
        self.t = 0  # the device's own time of it, in ms
        self.received = self.sent = -1  # counters of the newest, summed; -1: none
        self.traffic: tuple[int, ...] | None = ()  # as it was asked for; None: no longer


class RecentTelemetry:
    """`take` what was reported; `points` of a device, the oldest first."""

    def __init__(self, devices_max: int = DEVICES_MAX) -> None:
        self._devices_max = devices_max
        self._rings: dict[bytes, _TelemetryRing] = {}  # the most recently requested is at the end

    def __len__(self) -> int:
        return len(self._rings)

    def take(self, entries: Iterable[FleetEntry]) -> None:
        """Add the newest report of each entry, if it is another than before."""
        rings = self._rings
        for entry in entries:
            ring = rings.get(entry.sender)
            if ring is None:
                if len(rings) >= self._devices_max or entry.kind != "router":
                    continue
                ring = rings[entry.sender] = _TelemetryRing()
            if entry.last_seen > ring.at:
                _add(ring, entry)

    def points(self, sender: bytes) -> list[TelemetryPoint]:
        """The points kept of a device, which has a place from now on."""
        return [
            TelemetryPoint(
                at,
                _known(received),
                _known(sent),
                dict(zip(NAMES, map(_known, values), strict=True)),
            )
            for at, received, sent, *values in _in_order(self._requested_ring(sender))
        ]

    def traffic(self, sender: bytes, since: float = 0.0) -> tuple[int, ...]:
        """Bytes a second of both directions, where they are known: for a small picture."""
        ring = self._requested_ring(sender)
        rows = _in_order(ring)
        if rows and rows[0][0] < since:
            return _traffic([row for row in rows if row[0] >= since])
        if ring.traffic is None:
            ring.traffic = _traffic(rows)
        return ring.traffic

    def _requested_ring(self, sender: bytes) -> _TelemetryRing:
        ring = self._rings.pop(sender, None)
        if ring is None:
            if len(self._rings) >= self._devices_max:
                del self._rings[next(iter(self._rings))]
            ring = _TelemetryRing()
        self._rings[sender] = ring
        return ring


def _add(ring: _TelemetryRing, entry: FleetEntry) -> None:
    try:
        row: Row = _as_tuple(_decode(entry.content))
    except UNREADABLE:
        return  # of another version; the report itself is still spooled
    t: int = row[0]
    interfaces: Interfaces = row[-1]
    received = sent = -1
    for name, counters in interfaces.items():
        if name != _LOOPBACK:
            received = max(received, 0) + counters.received
            sent = max(sent, 0) + counters.sent
    at = entry.last_seen
    span_s = (t - ring.t) / 1000  # by its own clock: reports that waited come all at once
    _POINT.pack_into(
        ring.points,
        _POINT_SIZE * (ring.count % POINTS_MAX),
        at,
        _rate(ring.received, received, span_s),
        _rate(ring.sent, sent, span_s),
        *[_NAN if value is None else value for value in row[1:-1]],
    )
    ring.count += 1
    ring.traffic = None
    ring.at, ring.t, ring.received, ring.sent = at, t, received, sent


def _traffic(rows: list[tuple[float, ...]]) -> tuple[int, ...]:
    return tuple(round(sum_) for _, received, sent, *_ in rows if isfinite(sum_ := received + sent))


def _rate(before: int, now: int, span_s: float) -> float:
    """Growth per second; NaN where a counter restarted or no time has passed."""
    return (now - before) / span_s if 0 <= before <= now and span_s > 0 else _NAN


def _in_order(ring: _TelemetryRing) -> list[tuple[float, ...]]:
    """The oldest first."""
    rows = list(_POINT.iter_unpack(ring.points))
    newest = ring.count % POINTS_MAX
    return rows[: ring.count] if ring.count <= POINTS_MAX else rows[newest:] + rows[:newest]


def _known(value: float) -> float | None:
    return value if isfinite(value) else None
