"""The sampler: real values, and few enough of them for a datagram."""

import time

import psutil
import pytest

from rookery.agent.sampler import INTERFACES_MAX, LINKS_MAX, DeviceSampler
from rookery.errors import UsageError
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import CONTENT_SIZE_MAX, LinkTelemetry


def test_values_are_of_this_machine() -> None:
    """F3: uptime and more."""
    report = DeviceSampler().sample()
    assert abs(report.up - (time.time() - psutil.boot_time())) < 5
    assert 0 < report.mem < 1
    assert 0 < report.disk <= 1
    assert report.load >= 0
    assert 0 < len(report.ifs) <= INTERFACES_MAX
    assert list(report.ifs)[-1] == "lo" or "lo" not in report.ifs
    assert telemetry.decode(telemetry.encode(report)) == report


def test_a_report_always_fits_a_datagram() -> None:
    """However many links the node has, and however long their names are."""
    link = LinkTelemetry(peer="a" * 52, path="route", rtt_ms=123.456, loss=0.1234, rate_kbps=1e6)
    report = DeviceSampler().sample([link] * 200)
    assert len(report.links) == LINKS_MAX
    content = telemetry.encode(report)
    assert len(content) <= CONTENT_SIZE_MAX
    kept = telemetry.decode(content)
    assert isinstance(kept, telemetry.DeviceReport)
    assert kept.links
    assert kept.up == report.up


def test_a_sample_is_quick() -> None:
    """It runs on small devices every few seconds, between packets of others."""
    sampler = DeviceSampler()
    before = time.thread_time()
    for _ in range(20):
        sampler.sample()
    assert (time.thread_time() - before) / 20 < 0.05


def test_a_disk_that_is_not_there_is_said() -> None:
    with pytest.raises(UsageError, match="/no/such/place"):
        DeviceSampler("/no/such/place")
