"""Input and output of the report validator."""

import msgspec

from rookery.fleet.entry import FleetEntry, FleetKind
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.wire.fleet.datagrams import NO_CODE_ID, HelloDatagram, ReportDatagram


class IncomingReport(msgspec.Struct, frozen=True, gc=False):
    """A well-formed datagram: a report, a hello, or a hello with a report."""

    sender: bytes  # whose entry the validator needs
    kind: FleetKind
    address: str
    size: int
    report: ReportDatagram | None
    hello: HelloDatagram | None = None

    @property
    def code_id(self) -> bytes | None:
        """Id of the code that the validator needs if there is no entry."""
        if self.hello is None or self.hello.code_id == NO_CODE_ID:
            return None
        return self.hello.code_id


class ReportOutcome(msgspec.Struct, frozen=True, gc=False):
    """What to do now: update the entry, spool, send.

    `answer_durable` goes out once all that was spooled up to here is durable, also where this
    outcome adds nothing to it: it may acknowledge a repeat of what was added a moment ago. If
    the spool takes nothing, it does not go out at all and `changed` is dropped: so decide on a
    copy of the entry, as the hub does, and the report can come again.
    """

    answer_now: bytes = b""
    answer_durable: bytes = b""
    changed: FleetEntry | None = None
    spool: bytes | None = None  # serialized Observation
    events: tuple[SecurityEvent, ...] = ()
    enrolled: bytes | None = None  # an ENROLLED observation, to be spooled before: the entry is new
    code: bytes | None = None  # id of the code that the sender used to enrol
