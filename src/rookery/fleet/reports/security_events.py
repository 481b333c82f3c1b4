"""Security events: what an honest, healthy sender does not do; limited in rate."""

from typing import Literal, get_args

import msgspec

from rookery.fleet.reports.validator_settings import (
    ReportValidatorCounters,
    ReportValidatorSettings,
)
from rookery.link.token_bucket import TokenBucket

SecurityEventKind = Literal[
    "forged",  # a proof that does not hold
    "old secret",  # proved with a secret older than one it had proved before
    "replay",  # a report that came before, now from another address, or much too late
    "clone",  # two devices with one id, taking turns
    "foreign key",  # a known id with another key
    "rebound",  # an id without an owner went to another key, by an owner's code
    "denied",  # enrolment without a code that admits it
]


class SecurityEvent(msgspec.Struct, frozen=True):
    """Written to the audit log, the metrics and the lake."""

    kind: SecurityEventKind
    sender: bytes = msgspec.field(name="reporter")  # the name that spools have
    address: str
    detail: str = ""


class SecurityEventLimiter:
    """Limits each kind separately, so that a flood of one does not hide another."""

    __slots__ = ("_allowances", "_counters")

    def __init__(
        self, settings: ReportValidatorSettings, counters: ReportValidatorCounters, now: float
    ) -> None:
        self._counters = counters
        self._allowances = {
            kind: TokenBucket(settings.event_rate, settings.event_burst, now)
            for kind in get_args(SecurityEventKind)
        }

    def report(
        self, kind: SecurityEventKind, sender: bytes, address: str, now: float, detail: str = ""
    ) -> tuple[SecurityEvent, ...]:
        """The event, or none if its kind has come too often."""
        if self._allowances[kind].take(1.0, now):
            return (SecurityEvent(kind, sender, address, detail),)
        self._counters.events_shed += 1
        return ()
