"""F14: from a silent device to a told alert, on real stores and in virtual time."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from rookery.errors import UnreachableError
from rookery.fleet.alerts.tracker import AlertTrackerLimits
from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.hub.registry.entry_writer import HubBacklog
from rookery.store.accounts.audit import AuditRow
from rookery.store.alerts.alert import Alert
from rookery.store.alerts.deliveries import AlertDeliveries
from rookery.web.alerts.alerting import Alerting
from rookery.web.alerts.settings import AlertSettings, Webhook
from rookery.web.site import WebSite
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import DeviceReport, LinkTelemetry
from tests.web.receivers import HttpReceiver, http_receiver
from tests.web.world import HASHNAME, SETTINGS, World, world

ALERTS = AlertSettings(
    grace_s=60,
    tracker=AlertTrackerLimits(raise_after_s=15, clear_after_s=30),
    retry_s=5,
    attempts_max=3,
    try_s=10,
)


class Watched:
    """A hub whose clock the test turns; devices are silent when it says so."""

    def __init__(self, made: World, settings: AlertSettings) -> None:
        self.made = made
        self.passed_s = 0.0
        self._started_at = time.time()
        self.site = WebSite(made.hub, SETTINGS, wall=self.wall)
        self.alerting = self.another(settings)

    def wall(self) -> float:
        return self._started_at + self.passed_s

    def another(self, settings: AlertSettings) -> Alerting:
        made = Alerting(self.site, settings, clock=lambda: self.passed_s)
        made.url = "http://hub.test"
        return made

    async def check(self, seconds: float = 0, *, steps: int = 1) -> list[Alert]:
        for _ in range(steps):
            self.passed_s += seconds / steps
            await self.alerting.check()
        return await self.site.alerts.open()

    async def device(self, number: int, address: str = "192.0.2.9:1", peer: str = "") -> bytes:
        """One that belongs to somebody and is online."""
        mac = bytes([2, 0xFC, 0, 0, 0, number])
        account = await self.site.accounts.find("alice")
        if account is None:
            account = await self.made.account("alice")
        links = (LinkTelemetry(peer, "udp", 1.0, 0.0),) if peer else ()
        content = telemetry.encode(DeviceReport(t=1, links=links))
        now = time.time() + 10_000  # of the future, so that no slow machine makes it silent
        entry = FleetEntry(
            mac, "router", HASHNAME, bytes(64), bytes(32), 7, 1, 1, 1, now, now, address, content
        )
        await self.made.hub.ram.restore([entry])
        await self.site.devices.claim(mac, account.id, f"device {number}", now=now)
        return mac

    async def silence(self, mac: bytes, *, is_silent: bool = True) -> None:
        entry = await self.made.hub.entry(mac)
        assert entry is not None
        entry.last_seen = time.time() - 100 if is_silent else time.time() + 10_000


@asynccontextmanager
async def watched_world(
    folder: Path, template: Path, settings: AlertSettings = ALERTS
) -> AsyncIterator[Watched]:
    async with world(folder, template) as made:
        watched = Watched(made, settings)
        await watched.check()  # from now on the grace runs
        watched.passed_s += 60
        yield watched
        watched.site.close()
        await watched.site.closed()


@pytest.fixture
async def watched(tmp_path: Path, template: Path) -> AsyncIterator[Watched]:
    async with watched_world(tmp_path, template) as made:
        yield made


def titles(alerts: list[Alert]) -> list[str]:
    return [alert.title for alert in alerts]


async def test_a_device_that_falls_silent_and_comes_back(watched: Watched) -> None:
    mac = await watched.device(1)
    assert await watched.check() == []
    await watched.silence(mac)
    assert await watched.check(5) == []
    assert titles(await watched.check(15)) == ["device 1 is silent"]
    assert len(await watched.check(600, steps=20)) == 1
    await watched.silence(mac, is_silent=False)
    assert len(await watched.check(5)) == 1
    assert await watched.check(30) == []
    assert (await watched.site.alerts.get(1)) is not None


async def test_a_device_of_nobodys_is_nobodys_worry(watched: Watched) -> None:
    await watched.made.hub.report(ago_s=1000)
    assert await watched.check(100, steps=10) == []


async def test_a_hub_that_has_just_started_waits_for_everybody_to_report(
    watched: Watched,
) -> None:
    mac = await watched.device(1)
    await watched.silence(mac)
    fresh = watched.alerting = watched.another(ALERTS)
    for _ in range(5):
        assert await watched.check(10) == []
    assert await watched.check(20) == []
    assert len(await watched.check(20)) == 1
    assert fresh.is_ours


async def test_those_of_one_site_are_one_incident_into_which_the_first_goes(
    watched: Watched,
) -> None:
    macs = [await watched.device(number, f"192.0.2.{number}:1") for number in (1, 2, 3)]
    await watched.device(4, "[2001:db8::1]:7")
    await watched.silence(macs[0])
    await watched.check(5)
    assert titles(await watched.check(20)) == ["device 1 is silent"]
    for mac in macs[1:]:
        await watched.silence(mac)
    await watched.check(5)
    (group,) = await watched.check(20)
    assert group.title == "3 devices are silent: site 192.0.2.0/24"
    assert len(group.detail.entities) == 3
    first = await watched.site.alerts.get(1)
    assert first is not None
    assert first.detail.why == f"part of: {group.title}"


async def test_those_behind_one_node_name_it(watched: Watched) -> None:
    for number in (1, 2, 3):
        mac = await watched.device(number, f"198.51.{number}.1:1", peer="n" * 52)
        await watched.silence(mac)
    await watched.check(5)
    (group,) = await watched.check(20)
    assert group.detail.cause == f"node {'n' * 52}"


async def test_servers_that_are_silent_full_or_long_gone(watched: Watched) -> None:
    def server(name: str, used: int, ago_s: float) -> ServerLoad:
        seen = watched.wall() - ago_s
        return ServerLoad(name, "192.0.2.1:1", "", b"", b"", 10, used, 0, 0.0, 0.0, seen)

    hub = watched.made.hub
    hub.loads = [server("a", 10, 0), server("b", 0, 100), server("c", 0, 8 * 86_400)]
    await watched.check(1)
    hub.loads = [server("a", 10, 0), server("b", 0, 100), server("c", 0, 8 * 86_400)]
    found = await watched.check(16)
    assert {alert.key for alert in found} == {"server full a", "server silent b"}


async def test_security_events_raise_an_alert_at_once(watched: Watched) -> None:
    def event(what: str) -> AuditRow:
        return AuditRow(at=watched.wall(), who="02:fc", what=what, address="192.0.2.1:9")

    await watched.site.audit.add(event("security.clone"), event("securityish.clone"))
    (alert,) = await watched.check(1)
    assert (alert.key, alert.severity) == ("security clone", "critical")
    await watched.check(601)
    assert await watched.check(31) == []


async def test_the_hubs_own_spool(watched: Watched) -> None:
    hub = watched.made.hub
    hub.waiting = HubBacklog(0, 9_000_000_000, is_full=True, unsaved_entries=0)
    (alert,) = await watched.check(1)
    assert (alert.kind, alert.severity) == ("spool_full", "critical")
    hub.waiting = HubBacklog(0, 9_000_000_000, is_full=False, unsaved_entries=0)
    await watched.check(1)
    found = await watched.check(31)
    assert [alert.kind for alert in found] == ["spool_behind"]


async def test_what_does_not_answer_ends_no_alert(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = await watched.device(1)
    await watched.silence(mac)
    await watched.check(1)
    assert len(await watched.check(15)) == 1

    async def away(_: object) -> list[FleetEntry | None]:
        raise UnreachableError("the hot store is away")

    monkeypatch.setattr(watched.made.hub.hot, "entries", away)
    assert len(await watched.check(300, steps=5)) == 1


async def test_of_two_hubs_one_looks_and_the_other_takes_over_without_a_duplicate(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = await watched.device(1)
    await watched.silence(mac)
    await watched.check()
    first, second = watched.alerting, watched.another(ALERTS)
    monkeypatch.setattr("rookery.web.alerts.alerting.spool_name", lambda _: "another hub")
    await second.check()
    assert (first.is_ours, second.is_ours) == (True, False)
    watched.passed_s += 15
    await first.check()
    await second.check()
    assert len(await watched.site.alerts.open()) == 1
    for _ in range(20):  # the first one is no more
        watched.passed_s += 10
        await second.check()
    assert second.is_ours
    assert len(await watched.site.alerts.open()) == 1
    await first.check()
    assert not first.is_ours
    await watched.silence(mac, is_silent=False)
    await second.check()
    watched.passed_s += 30
    await second.check()
    assert await watched.site.alerts.open() == []


async def test_a_clock_that_is_set_neither_raises_nor_ends_anything(watched: Watched) -> None:
    mac = await watched.device(1)
    await watched.silence(mac)
    await watched.check(1)
    watched._started_at += 3600
    assert await watched.check(1) == []
    assert len(await watched.check(16)) == 1


class NotificationReceiver:
    """What a receiver was told, in its order."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self._receiver = receiver

    @property
    def events(self) -> list[str]:
        return [msgspec.json.decode(each.body)["event"] for each in self._receiver.posted]

    @property
    def keys(self) -> list[str]:
        return [each.headers["Rookery-Delivery"] for each in self._receiver.posted]


@asynccontextmanager
async def notified_world(
    folder: Path, template: Path
) -> AsyncIterator[tuple[Watched, NotificationReceiver]]:
    async with http_receiver() as receiver:
        hook = Webhook(receiver.url, b"0123456789abcdef")
        settings = msgspec.structs.replace(ALERTS, webhooks=(hook,))
        async with watched_world(folder, template, settings) as made:
            receiver.statuses = [503, 500, 204]
            yield made, NotificationReceiver(receiver)


async def test_a_notification_is_retried_until_delivered_once(
    tmp_path: Path, template: Path
) -> None:
    async with notified_world(tmp_path, template) as (watched, notifications):
        mac = await watched.device(1)
        await watched.silence(mac)
        await watched.check(1)
        (alert,) = await watched.check(15)
        assert await watched.alerting.send_due() == 1
        assert await watched.alerting.send_due() == 0  # not yet again
        watched.passed_s += 5
        assert await watched.alerting.send_due() == 1
        watched.passed_s += 5
        assert await watched.alerting.send_due() == 0
        watched.passed_s += 5
        assert await watched.alerting.send_due() == 1
        watched.passed_s += 100
        assert await watched.alerting.send_due() == 0
        assert notifications.events == ["raised"] * 3
        assert len(set(notifications.keys)) == 1
        events = [each.what for each in await watched.site.alerts.events(alert.id)]
        assert events == ["raised", "told"]
        await watched.silence(mac, is_silent=False)
        await watched.check(1)
        await watched.check(31)
        await watched.alerting.send_due()
        assert notifications.events[3:] == ["resolved"]


async def test_a_failing_channel_is_given_up_and_the_alert_shows_it(
    tmp_path: Path, template: Path
) -> None:
    async with notified_world(tmp_path, template) as (watched, notifications):
        notifications._receiver.statuses = [500]
        mac = await watched.device(1)
        await watched.silence(mac)
        await watched.check(1)
        (alert,) = await watched.check(15)
        for _ in range(6):
            await watched.alerting.send_due()
            watched.passed_s += 60
        assert len(notifications.events) == 3
        last = (await watched.site.alerts.events(alert.id))[-1]
        assert (last.what, "answered with 500" in last.text) == ("untold", True)
        assert await AlertDeliveries(watched.made.hub.database).waiting() == 0


async def test_a_muted_alert_is_sent_when_the_mute_ends(tmp_path: Path, template: Path) -> None:
    async with notified_world(tmp_path, template) as (watched, notifications):
        notifications._receiver.statuses = [204]
        mac = await watched.device(1)
        await watched.silence(mac)
        await watched.check(1)
        (alert,) = await watched.check(15)
        await watched.alerting.send_due()
        now = watched.wall()
        await watched.site.alerts.mute(alert.id, "alice", now + 3600, now=now)
        await watched.silence(mac, is_silent=False)
        await watched.check(1)
        assert await watched.check(31) == []
        await watched.silence(mac)
        await watched.check(1)
        (again,) = await watched.check(16)
        assert again.is_muted(watched.wall())
        await watched.alerting.send_due()
        assert notifications.events == ["raised"]
        await watched.check(3600)
        await watched.alerting.send_due()
        assert notifications.events == ["raised", "reminder"]


async def test_less_severe_alerts_are_not_sent(tmp_path: Path, template: Path) -> None:
    async with http_receiver() as receiver:
        hook = Webhook(receiver.url, b"0123456789abcdef")
        settings = msgspec.structs.replace(ALERTS, webhooks=(hook,), least="critical")
        async with watched_world(tmp_path, template, settings) as watched:
            await watched.silence(await watched.device(1))
            await watched.check(1)
            assert len(await watched.check(15)) == 1
            assert await watched.alerting.send_due() == 0
    assert receiver.posted == []
