"""The last reports of devices, as the pages show them."""

import time

import pytest

from rookery.fleet.entry import FleetEntry, FleetKind
from rookery.hub.reports.recent_telemetry import POINTS_MAX, RecentTelemetry
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import DeviceReport, InterfaceCounters

MAC = bytes.fromhex("02fc00000001")


def entry(at: float, content: bytes, mac: bytes = MAC, kind: FleetKind = "router") -> FleetEntry:
    return FleetEntry(mac, kind, "", b"", b"", 1, 1, 1, 1, at, at, "", content)


def content(at: float, received: int = 0, sent: int = 0, temp: float | None = None) -> bytes:
    counters = {
        "lo": InterfaceCounters(10**9 * round(at), 0),
        "eth0": InterfaceCounters(received, sent),
        "wlan0": InterfaceCounters(0, sent),
    }
    report = DeviceReport(t=round(at * 1000), load=0.5, mem=0.25, temp=temp, ifs=counters)
    return telemetry.encode(report)


def test_rates_are_what_came_between_two_reports_without_the_loopback() -> None:
    recent = RecentTelemetry()
    recent.take([entry(10.0, content(10.0, 1000, 100))])
    recent.take([entry(12.0, content(12.0, 5000, 300, 41.5))])
    first, second = recent.points(MAC)
    assert (first.received, first.sent, first.values["temp"]) == (None, None, None)
    assert (second.received, second.sent, second.values["temp"]) == (2000.0, 200.0, 41.5)
    assert (second.at, second.values["load"], second.values["mem"]) == (12.0, 0.5, 0.25)
    assert recent.traffic(MAC) == (2200,)


def test_a_counter_that_begins_anew_has_no_rate() -> None:
    recent = RecentTelemetry()
    for at, received in ((1.0, 500), (2.0, 10), (3.0, 30)):
        recent.take([entry(at, content(at, received))])
    assert [point.received for point in recent.points(MAC)] == [None, None, 20.0]


def test_reports_that_waited_for_the_hub_are_as_far_apart_as_they_were_made() -> None:
    recent = RecentTelemetry()
    recent.take([entry(100.0, content(10.0, 0))])
    recent.take([entry(100.01, content(20.0, 1000))])
    assert recent.points(MAC)[-1].received == 100.0


def test_the_ring_keeps_the_newest_in_order() -> None:
    recent = RecentTelemetry()
    for number in range(1, POINTS_MAX + 6):
        recent.take([entry(float(number), content(float(number), number * 10))])
        assert len(recent.points(MAC)) == min(number, POINTS_MAX)
    times = [point.at for point in recent.points(MAC)]
    assert times == [float(number) for number in range(6, POINTS_MAX + 6)]
    assert recent.traffic(MAC) == (10,) * POINTS_MAX


def test_the_same_report_counts_once_and_rubbish_not_at_all() -> None:
    recent = RecentTelemetry()
    again = entry(5.0, content(5.0))
    recent.take([again])
    recent.take([again, entry(6.0, b"\xc1 rubbish"), entry(7.0, b"")])
    assert len(recent.points(MAC)) == 1


def test_servers_are_not_followed() -> None:
    recent = RecentTelemetry()
    recent.take([entry(1.0, content(1.0), kind="server")])
    assert len(recent) == 0


def test_without_room_whom_somebody_looks_at_takes_the_place_of_whom_nobody_does() -> None:
    recent = RecentTelemetry(devices_max=2)
    old, seen, new = (bytes([2, 0, 0, 0, 0, number]) for number in range(3))
    for mac in (seen, old):
        recent.take([entry(1.0, content(1.0), mac)])
    recent.points(seen)
    recent.take([entry(1.0, content(1.0), new)])
    assert len(recent) == 2  # nobody asked for it
    assert recent.points(new) == []
    for mac in (old, seen, new):
        recent.take([entry(2.0, content(2.0), mac)])
    assert len(recent) == 2
    assert [len(recent.points(mac)) for mac in (seen, new)] == [2, 1]


@pytest.mark.slow
def test_a_report_of_a_full_table_costs_a_few_microseconds() -> None:
    recent = RecentTelemetry(devices_max=1000)
    macs = [number.to_bytes(6, "big") for number in range(2000)]
    best = 1.0
    for at in range(1, 6):
        entries = [entry(float(at), content(float(at), at), mac) for mac in macs]
        begun = time.thread_time()
        recent.take(entries)
        best = min(best, (time.thread_time() - begun) / len(entries))
    assert best < 50e-6
