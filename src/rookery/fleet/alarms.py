"""Alarms: security events, at a rate that a log and a lake can bear."""

from typing import get_args

from rookery.fleet.allowance import Allowance
from rookery.fleet.desk_settings import DeskCounters, DeskSettings
from rookery.fleet.security_event import EventKind, SecurityEvent


class Alarms:
    """Each kind has its own allowance, so that a flood of one does not hide another."""

    __slots__ = ("_allowances", "_counters")

    def __init__(self, settings: DeskSettings, counters: DeskCounters, now: float) -> None:
        self._counters = counters
        self._allowances = {
            kind: Allowance(settings.event_rate, settings.event_burst, now)
            for kind in get_args(EventKind)
        }

    def sound(
        self, kind: EventKind, reporter: bytes, address: str, now: float, detail: str = ""
    ) -> tuple[SecurityEvent, ...]:
        """The event, or nothing if there were too many of its kind."""
        if self._allowances[kind].take(now):
            return (SecurityEvent(kind, reporter, address, detail),)
        self._counters.events_shed += 1
        return ()
