"""F4: security events at a bearable rate."""

from rookery.fleet.alarms import Alarms
from rookery.fleet.desk_settings import DeskCounters, DeskSettings
from rookery.fleet.security_event import SecurityEvent

MAC = b"router"


def test_a_flood_of_one_kind_does_not_hide_another_f4() -> None:
    counters = DeskCounters()
    alarms = Alarms(DeskSettings(event_rate=1.0, event_burst=5.0), counters, 0.0)
    told = [alarms.sound("forged", MAC, "192.0.2.1:1", 0.0) for _ in range(1000)]
    assert sum(len(events) for events in told) == 5
    assert counters.events_shed == 995
    assert alarms.sound("clone", MAC, "192.0.2.1:1", 0.0, "twice") == (
        SecurityEvent("clone", MAC, "192.0.2.1:1", "twice"),
    )
    assert alarms.sound("forged", MAC, "192.0.2.1:1", 1.0)
