"""Observations of every kind, and spools that hold them."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from rookery.fleet import entry as entries
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.store.spool.segment import Segment, SegmentFile, frame
from rookery.wire import observation as observations
from rookery.wire import observation_content
from rookery.wire.fleet import telemetry
from rookery.wire.observation import HEAD

RECEIVED_MS = 1_793_800_000_123
SENDER = bytes.fromhex("02fc00000001")
SENT_MS = RECEIVED_MS - 5000

ENTRY = entries.FleetEntry(
    SENDER,
    "router",
    "h" * 52,
    b"K" * 64,
    b"D" * 32,
    1,
    2,
    3,
    4,
    SENT_MS / 1000,
    6.0,
    "192.0.2.1:9",
)
STRUCTS: dict[int, msgspec.Struct] = {
    observations.DEVICE: telemetry.DeviceReport(
        t=SENT_MS,
        b=7,
        n=8,
        up=1.5,
        load=0.25,
        mem=0.5,
        disk=0.75,
        temp=-3.5,
        signal=-52.0,
        ifs={
            "eth0": telemetry.InterfaceCounters(1, 2, 3, 4, 5, 6),
            "wlan0": telemetry.InterfaceCounters((1 << 63) - 1),
        },
        links=(telemetry.LinkTelemetry("peer", "udp4", 12.5, 0.01, 900.0),),
        agent="0.1.0",
        system="linux",
        dropped=9,
    ),
    observations.SERVER: telemetry.LoadReport(
        t=SENT_MS,
        b=7,
        n=8,
        seats_max=100,
        seats_used=3,
        cpu=0.5,
        mem=0.25,
        tcp="192.0.2.2:1",
        key2a=b"public",
    ),
    observations.CALLED: telemetry.CallReport(
        t=SENT_MS,
        b=7,
        n=8,
        who="ann",
        router="02:fc:00:00:00:01",
        method="Reboot",
        ms=3.5,
        code=-32601,
        seat="s",
    ),
    observations.ENROLLED: ENTRY,
    observations.SECURITY: SecurityEvent("clone", SENDER, "192.0.2.1:4000", "two of them"),
    observations.LINK: observation_content.LinkSample(
        t=SENT_MS,
        b=7,
        n=8,
        realm="r",
        node="a",
        peer="b",
        path="udp4",
        rtt_ms=1.5,
        cost_us=1500,
        is_up=True,
    ),
    observations.RECORD: observation_content.RecordChange(
        t=SENT_MS,
        b=7,
        n=8,
        realm="r",
        node="a",
        epoch=1,
        number=2,
        lifetime_s=30,
        links=(
            observation_content.ObservedRecordLink("b", 10),
            observation_content.ObservedRecordLink("c", 20),
        ),
    ),
    observations.DECISION: observation_content.ObservedRouteDecision(
        t=SENT_MS,
        b=7,
        n=8,
        realm="r",
        source="a",
        destination="c",
        nodes=("a", "b", "c"),
        verdict="changed",
        reason="faster",
        candidates=2,
    ),
    observations.SESSION: telemetry.SessionReport(
        t=SENT_MS,
        b=7,
        n=8,
        who="ann",
        router="02:…",
        opened_at=SENT_MS - 9000,
        closed_at=SENT_MS,
        sent_bytes=5,
    ),
    observations.REQUEST: observation_content.EndedRequest(
        t=SENT_MS,
        b=7,
        n=8,
        node="a",
        peer="b",
        number=1,
        size=2,
        submitted_at=SENT_MS - 10,
        ended_at=1 << 62,
        fate="delivered",
        attempts=1,
    ),
    observations.MESSAGE: observation_content.PublishedMessage(
        t=SENT_MS, b=7, n=8, theme="t", publisher="p", qos=1, size=3, payload=b"\x00\x01\x02"
    ),
}
"""One of each kind, by its number."""


def record(kind: int, content: bytes | None = None, received_ms: int = RECEIVED_MS) -> bytes:
    if content is None:
        content = msgspec.msgpack.encode(STRUCTS[kind])
    return HEAD.pack(received_ms, kind, SENDER, 0, 0) + content


def called(number: int) -> bytes:
    """One of many calls that can be told apart."""
    report = telemetry.CallReport(t=SENT_MS, b=1, n=number, who="w", router="r", method="m", ms=1.0)
    return record(observations.CALLED, telemetry.encode(report))


def linked(number: int) -> bytes:
    """One of many link samples that can be told apart."""
    said = observation_content.LinkSample(
        t=SENT_MS, b=1, n=number, realm="r", node="a", peer="b", is_up=True
    )
    return record(observations.LINK, observation_content.encode(said))


def write_segment(folder: Path, start: int, records: Iterable[bytes]) -> int:
    """As a spool would have written it; the position behind it."""
    folder.mkdir(exist_ok=True)
    data = frame(list(records))
    file = SegmentFile.create(Segment.at(folder, start))
    file.append(data)
    file.close()
    return start + len(data)
