"""Telemetry: reports of devices and servers, as msgpack maps with the kind in front.

Times are wall milliseconds of the sender, whose clock may be wrong. `b` (boot) and `n` (sequence)
identify a report: they do not change when it is sent again after a restart, so that the lake can
recognise a repeat. The sender fills them in.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from rookery.errors import DecodeError, UsageError
from rookery.wire.fleet.telemetry_field import Described, fields_of

CONTENT_SIZE_MAX = 1200
SAMPLES_MAX = 64

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Csid = Annotated[int, Meta(ge=0, le=255)]
Ratio = Annotated[float, Meta(ge=0.0, le=1.0)]
Amount = Annotated[float, Meta(ge=0.0, le=1e15)]
Decibels = Annotated[float, Meta(ge=-200.0, le=100.0)]
Degrees = Annotated[float, Meta(ge=-300.0, le=1000.0)]
Name = Annotated[str, Meta(max_length=64)]
Text = Annotated[str, Meta(max_length=256)]


class InterfaceCounters(msgspec.Struct, frozen=True, array_like=True):
    """Since the interface came up."""

    received_bytes: Count = 0
    sent_bytes: Count = 0
    received_packets: Count = 0
    sent_packets: Count = 0
    errors: Count = 0
    drops: Count = 0


class LinkTelemetry(msgspec.Struct, frozen=True, array_like=True):
    """A mesh link of the device's node, as it measured it."""

    peer: Name  # hashname
    path: Name  # kind of the path in use
    rtt_ms: Amount
    loss: Ratio
    rate_kbps: Amount = 0.0


class DeviceReport(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="device", omit_defaults=True
):
    """How a device is. Described fields are also in the lake, in HTTP answers and on pages.

    A new one comes last and has a default: columns of the lake are in this order.
    """

    t: Count  # when it was sampled
    b: Count = 0
    n: Count = 0
    stream: Csid = 0  # cipher set of its sealed streams; 0: none but 2a
    up: Annotated[
        Amount, Described("Uptime", "since the device started", "s", public_name="up_s")
    ] = 0.0
    load: Annotated[
        Amount, Described("Load", "processes that want to run, mean of a minute", chart="mean")
    ] = 0.0
    mem: Annotated[Ratio, Described("Memory", "memory in use", "share", chart="mean")] = 0.0
    disk: Annotated[Ratio, Described("Disk", "disk in use", "share", chart="mean")] = 0.0
    temp: Annotated[
        Degrees | None, Described("Temperature", "the hottest sensor", "°C", chart="max")
    ] = None
    agent: Annotated[Name, Described("Agent", "version of the agent")] = ""
    system: Annotated[Name, Described("System", "operating system")] = ""
    dropped: Annotated[
        Count, Described("Reports given up", "reports given up for want of room", "reports")
    ] = 0
    ifs: Annotated[
        dict[Name, InterfaceCounters],
        Meta(max_length=SAMPLES_MAX),
        Described("Interfaces", "counters since each interface came up", public_name="interfaces"),
    ] = {}
    links: Annotated[
        tuple[LinkTelemetry, ...],
        Meta(max_length=SAMPLES_MAX),
        Described("Links", "mesh links of the node beside the agent"),
    ] = ()
    signal: Annotated[
        Decibels | None,
        Described("Wi-Fi signal", "of the wireless interface that hears best", "dBm", chart="mean"),
    ] = None


DEVICE_FIELDS = fields_of(DeviceReport)
SCALAR_FIELDS = tuple(each for each in DEVICE_FIELDS if each.is_scalar)
CHART_FIELDS = tuple(each for each in SCALAR_FIELDS if each.chart)


class LoadReport(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="load", omit_defaults=True
):
    """How a server is, and where."""

    t: Count
    b: Count = 0
    n: Count = 0
    seats_max: Count
    seats_used: Count
    cpu: Ratio = 0.0
    mem: Ratio = 0.0
    tcp: Name  # "ip:port"
    ws: Text = ""  # URL
    key2a: Annotated[bytes, Meta(max_length=512)]  # routers and clients dial with it
    stream: Csid = 0  # that its sealed streams take; 0: none but 2a


class CallReport(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="call", omit_defaults=True
):
    """A call that a server relayed, for the audit."""

    t: Count
    b: Count = 0
    n: Count = 0
    who: Text  # account
    router: Name  # MAC
    method: Name
    ms: Amount  # until the answer
    code: Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)] = 0  # JSON-RPC's; 0: it worked
    seat: Name = ""


class SessionReport(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="session", omit_defaults=True
):
    """A seat that is free again, or with no server a rendezvous that led nowhere."""

    t: Count
    b: Count = 0
    n: Count = 0
    seat: Name = ""
    who: Text  # account
    router: Name  # MAC
    server: Name = ""  # hashname
    opened_at: Count  # when the seat was reserved, or the wish made; wall milliseconds
    closed_at: Count
    reason: Text = ""
    sent_bytes: Count = 0  # to the device, of messages that were relayed
    received_bytes: Count = 0  # from the device


Report = DeviceReport | LoadReport | CallReport | SessionReport


class ReportOrigin(msgspec.Struct, frozen=True):
    """Boot and sequence number, which any report has."""

    b: Count
    n: Count


_SHORT_MAP, _SHORT_MAP_MAX, _MAP_16 = 0x80, 15, 0xDE
_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Report] = msgspec.msgpack.Decoder(Report)
_ORIGIN_DECODER = msgspec.msgpack.Decoder(ReportOrigin)


def encode(report: Report) -> bytes:
    """The content of a report; a device with too much to tell leaves out links, then interfaces."""
    content = _encoded(report)
    while len(content) > CONTENT_SIZE_MAX:
        if not isinstance(report, DeviceReport) or not (report.links or report.ifs):
            raise UsageError(f"a report of {len(content)} bytes; {CONTENT_SIZE_MAX} are allowed")
        report = _with_less(report)
        content = _encoded(report)
    return content


def _encoded(report: Report) -> bytes:
    """With the short header wherever it fits: msgspec takes the long one for 16 possible keys."""
    content = _ENCODER.encode(report)
    if content[0] == _MAP_16 and (count := content[1] << 8 | content[2]) <= _SHORT_MAP_MAX:
        return bytes([_SHORT_MAP | count]) + content[3:]
    return content


def decode(content: bytes) -> Report:
    """Read a report, or raise DecodeError. Fields of newer versions are passed over."""
    if len(content) > CONTENT_SIZE_MAX:
        raise DecodeError(f"{len(content)} bytes cannot be a report")
    try:
        return _DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"not a report: {error}") from error


def report_origin(content: bytes) -> ReportOrigin:
    """Only its boot and sequence, or DecodeError."""
    try:
        return _ORIGIN_DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"no boot and sequence: {error}") from error


def _with_less(report: DeviceReport) -> DeviceReport:
    if report.links:
        return msgspec.structs.replace(report, links=report.links[: len(report.links) // 2])
    kept = list(report.ifs.items())[: len(report.ifs) // 2]
    return msgspec.structs.replace(report, ifs=dict(kept))
