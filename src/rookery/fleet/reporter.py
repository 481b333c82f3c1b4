"""Reporter: how a router or a server reports to the hub; no I/O."""

from collections.abc import Mapping

import msgspec

from rookery.fleet.entry import Kind
from rookery.fleet.reporter_events import ReporterEvent
from rookery.fleet.reporter_state import ReporterState
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.identity import Identity
from rookery.wire.telemetry import Report


class ReporterLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds."""

    kept_max: int = 4320  # reports, a day of them; the oldest is dropped for the newest
    in_flight_max: int = 4
    resend_s: float = 1.0  # doubles with each try
    resend_max_s: float = 30.0
    pace_s: float = 0.1  # between reports that were kept through an outage
    hello_s: float = 1.0
    hello_max_s: float = 60.0


class Reporter:
    """`now` is monotonic seconds throughout; `wall_ms` is looked at once, to choose the boot."""

    def __init__(
        self,
        identity: Identity,
        hub_keys: Mapping[int, bytes],
        reporter: bytes,
        kind: Kind,
        state: ReporterState,
        wall_ms: int,
        random: RandomBytes,
        limits: ReporterLimits = ReporterLimits(),  # noqa: B008 - frozen
        code: str | None = None,
    ) -> None: ...

    def report(self, report: Report, now: float) -> None:
        """Keep it until the hub has it; UsageError when it is too large."""

    def received(self, datagram: bytes, now: float) -> None:
        """A datagram from the hub, or from anybody; what does not hold is counted and dropped."""

    @property
    def deadline(self) -> float | None:
        """When to call `tick`; None: nothing to do before the next report."""

    def tick(self, now: float) -> None:
        """Time has passed."""

    def take(self) -> list[bytes]:
        """Datagrams for the hub, to be sent now. Look after every call of the others."""
        raise NotImplementedError

    def events(self) -> list[ReporterEvent]:
        """What has happened since the last look."""
        raise NotImplementedError

    @property
    def state(self) -> ReporterState:
        """As it is now, to be kept; kept reports included."""
        raise NotImplementedError

    @property
    def claim_code(self) -> str | None:
        """For the owner to type into the cabinet; None before the first secret."""
