"""Report reader: parses datagrams at the hub, and limits how many hellos are looked at."""

from rookery.errors import DecodeError
from rookery.fleet.enrolment.enrolment import name_of
from rookery.fleet.entry import FleetKind, is_device_id, server_id
from rookery.fleet.reports.rate_limits import HelloLimiter
from rookery.fleet.reports.report_outcome import IncomingReport
from rookery.fleet.reports.validator_settings import (
    ReportValidatorCounters,
    ReportValidatorSettings,
)
from rookery.link.token_bucket import TokenBucket
from rookery.wire.fleet import tlv
from rookery.wire.fleet.datagrams import (
    HELLO_DATAGRAM_SIZE_MIN,
    PROVED_FORM,
    HelloDatagram,
    ReportDatagram,
)
from rookery.wire.fleet.tags import AUDIT, HELLO, LOAD, SERVER_HELLO, SESSION, TELEMETRY

_KINDS: dict[int, FleetKind] = {
    TELEMETRY: "router",
    LOAD: "server",
    AUDIT: "server",
    SESSION: "server",
}
_HELLO_KINDS: dict[int, FleetKind] = {HELLO: "router", SERVER_HELLO: "server"}


class ReportReader:
    """Recognises reports, hellos, and a hello with a report."""

    __slots__ = ("_counters", "_is_plain_allowed", "_limiter")

    def __init__(
        self, settings: ReportValidatorSettings, counters: ReportValidatorCounters, now: float
    ) -> None:
        self._counters = counters
        self._is_plain_allowed = settings.legacy_plain
        self._limiter = HelloLimiter(
            TokenBucket(settings.hello_rate, settings.hello_burst, now),
            rate=settings.address_rate,
            burst=settings.address_burst,
            addresses_max=settings.addresses_max,
        )

    def read(self, datagram: bytes, address: str, now: float) -> IncomingReport | None:
        """Parse, or count and return None. `address` is `ip:port`, `now` wall seconds."""
        report = ReportDatagram.read(datagram)
        kind = None if report is None else _KINDS.get(report.tag)
        if report is None or kind is None:
            return self._read_hello(datagram, address, now)
        if not self._is_allowed(report, kind):
            return None
        return IncomingReport(report.sender, kind, address, len(datagram), report)

    def _read_hello(self, datagram: bytes, address: str, now: float) -> IncomingReport | None:
        try:
            kind, hello, report = _parse(datagram)
        except DecodeError:
            self._counters.malformed += 1
            return None
        if report is not None and not self._is_allowed(report, kind):
            return None
        # From here on it costs hashes and a database lookup.
        if not self._limiter.admits(address, now):
            self._counters.limited += 1
            return None
        if not is_id_of(kind, hello):
            self._counters.malformed += 1
            return None
        return IncomingReport(hello.sender, kind, address, len(datagram), report, hello)

    def _is_allowed(self, report: ReportDatagram, kind: FleetKind) -> bool:
        if is_device_id(report.sender) is not (kind == "router"):
            self._counters.malformed += 1
            return False
        if report.form != PROVED_FORM and not self._is_plain_allowed:
            self._counters.plain_refused += 1
            return False
        return True


def _parse(datagram: bytes) -> tuple[FleetKind, HelloDatagram, ReportDatagram | None]:
    """A hello, with a report behind it or without, or DecodeError."""
    first, *others = tlv.parse_all(datagram)
    kind = _HELLO_KINDS.get(first.tag)
    if kind is None:
        raise DecodeError(f"neither report nor hello: tag {first.tag}")
    hello = HelloDatagram.parse(first.value)
    if not others:
        if len(datagram) < HELLO_DATAGRAM_SIZE_MIN:
            raise DecodeError(f"a hello of {len(datagram)} bytes, smaller than its answer")
        return kind, hello, None
    report = ReportDatagram.parse(datagram[tlv.HEAD_SIZE + len(first.value) :])
    if report.sender != hello.sender or _KINDS.get(report.tag) != kind:
        raise DecodeError("a hello and a report of different senders")
    return kind, hello, report


def is_id_of(kind: FleetKind, hello: HelloDatagram) -> bool:
    """A server's id follows from its keys; a device's MAC is what it claims."""
    if kind == "router":
        return is_device_id(hello.sender)
    return hello.sender == server_id(name_of(hello))
