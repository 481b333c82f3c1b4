"""F4: security events at a bearable rate."""

from rookery.fleet.reports.security_events import SecurityEvent, SecurityEventLimiter
from rookery.fleet.reports.validator_settings import (
    ReportValidatorCounters,
    ReportValidatorSettings,
)

MAC = b"router"


def test_a_flood_of_one_kind_does_not_hide_another_f4() -> None:
    counters = ReportValidatorCounters()
    alarms = SecurityEventLimiter(
        ReportValidatorSettings(event_rate=1.0, event_burst=5.0), counters, 0.0
    )
    told = [alarms.report("forged", MAC, "192.0.2.1:1", 0.0) for _ in range(1000)]
    assert sum(len(events) for events in told) == 5
    assert counters.events_shed == 995
    assert alarms.report("clone", MAC, "192.0.2.1:1", 0.0, "twice") == (
        SecurityEvent("clone", MAC, "192.0.2.1:1", "twice"),
    )
    assert alarms.report("forged", MAC, "192.0.2.1:1", 1.0)
