"""What a device said of itself last: the machine, its interfaces, its links."""

import msgspec

from rookery.errors import DecodeError
from rookery.fleet.entry import Entry
from rookery.wire import telemetry
from rookery.wire.telemetry import DeviceReport


class InterfaceShown(msgspec.Struct, frozen=True, kw_only=True):
    """Counters since the interface came up."""

    name: str
    received_bytes: int
    sent_bytes: int
    received_packets: int
    sent_packets: int
    errors: int
    drops: int


class LinkReported(msgspec.Struct, frozen=True, kw_only=True):
    """A mesh link of the node beside the agent."""

    peer: str  # hashname
    path: str  # kind of the path in use; empty: none
    rtt_ms: float
    loss: float  # share
    rate_kbps: float


class ReportShown(msgspec.Struct, frozen=True, kw_only=True):
    """The last report."""

    at: float  # wall seconds, when the hub had it
    sampled_at: float  # the same by the device's own clock
    up_s: float
    load: float
    mem: float
    disk: float
    temp: float | None
    agent: str
    system: str
    dropped: int
    interfaces: list[InterfaceShown]
    links: list[LinkReported]


def last_report(entry: Entry | None) -> ReportShown | None:
    """None for a device that has not told of itself in words we know."""
    if entry is None:
        return None
    try:
        report = telemetry.decode(entry.content)
    except DecodeError:
        return None
    if not isinstance(report, DeviceReport):
        return None
    return ReportShown(
        at=entry.last_seen,
        sampled_at=report.t / 1000,
        up_s=report.up,
        load=report.load,
        mem=report.mem,
        disk=report.disk,
        temp=report.temp,
        agent=report.agent,
        system=report.system,
        dropped=report.dropped,
        interfaces=[
            InterfaceShown(name=name, **msgspec.structs.asdict(counters))
            for name, counters in report.ifs.items()
        ],
        links=[
            LinkReported(**msgspec.structs.asdict(link))
            for link in sorted(report.links, key=lambda link: (not link.path, link.rtt_ms))
        ],
    )
