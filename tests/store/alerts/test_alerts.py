"""Alerts in both databases: raised once whoever looks, acknowledged, muted, told outside (F14)."""

import asyncio

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError

from rookery.fleet.alerts.alert import (
    AlertChanged,
    AlertCondition,
    AlertRaised,
    AlertResolved,
    Severity,
)
from rookery.store.alerts.alert import Alert
from rookery.store.alerts.alerts import AlertFilter, Alerts
from rookery.store.alerts.deliveries import AlertDeliveries
from rookery.store.alerts.writer import DELIVERIES_WAITING_MAX, LEASE_S, AlertChannels, AlertWriter
from rookery.store.database.database import Database
from rookery.store.hubs.leases import Leases

NOW = 1_700_000_000.5
OUTLETS = AlertChannels(channels=("webhook a", "mail"), hub="hn", url="https://hub.test")


def condition(key: str = "k", severity: Severity = "warning", note: str = "") -> AlertCondition:
    return AlertCondition(
        key=key,
        kind="device_silent",
        severity=severity,
        title=f"<b>{key}</b> молчит",
        cause="site 192.0.2.0/24",
        entities=("router 02:fc:00:00:00:01",),
        note=note,
    )


def raised(key: str = "k", severity: Severity = "warning") -> AlertRaised:
    return AlertRaised(condition(key, severity), NOW - 60)


def keeping(
    database: Database, holder: str = "hub 1", outlets: AlertChannels = OUTLETS
) -> AlertWriter:
    return AlertWriter(database, "fleet", holder, outlets)


async def raise_one(database: Database, key: str = "k") -> Alert:
    assert await keeping(database).apply([raised(key)], now=NOW)
    return (await Alerts(database).open())[-1]


async def happened(database: Database, number: int) -> list[str]:
    return [each.what for each in await Alerts(database).events(number)]


class TestLeases:
    async def test_one_of_many_holds_it_until_its_time_is_up(self, database: Database) -> None:
        leases = Leases(database)
        names = [f"hub {number}" for number in range(5)]
        held = await asyncio.gather(
            *(leases.hold("work", name, now=NOW, seconds=30) for name in names)
        )
        assert held.count(True) == 1
        holder, other = names[held.index(True)], names[held.index(False)]
        assert await leases.hold("work", holder, now=NOW + 29, seconds=30)
        assert not await leases.hold("work", other, now=NOW + 58, seconds=30)
        assert await leases.hold("work", other, now=NOW + 60, seconds=30)
        assert not await leases.hold("work", holder, now=NOW + 61, seconds=30)
        assert await leases.hold("other work", holder, now=NOW + 61, seconds=30)

    async def test_it_can_be_given_back(self, database: Database) -> None:
        leases = Leases(database)
        assert await leases.hold("work", "a", now=NOW, seconds=30)
        await leases.release("work", "b")
        assert not await leases.hold("work", "b", now=NOW, seconds=30)
        await leases.release("work", "a")
        assert await leases.hold("work", "b", now=NOW, seconds=30)


class TestAlerts:
    async def test_one_is_kept_as_it_was_raised(self, database: Database) -> None:
        found = await raise_one(database)
        assert found.condition == msgspec.structs.replace(condition(), began_at=NOW - 60)
        assert (found.since, found.raised_at, found.until) == (NOW - 60, NOW, None)
        assert await Alerts(database).get(found.id) == found
        assert await Alerts(database).get(found.id + 1) is None
        assert await Alerts(database).count_open() == {"warning": 1}
        assert await happened(database, found.id) == ["raised"]

    async def test_hubs_of_one_database_raise_it_once(self, database: Database) -> None:
        """Whoever has not the lease writes nothing."""
        hubs = [keeping(database, f"hub {number}") for number in range(4)]
        done = await asyncio.gather(*(hub.apply([raised()], now=NOW) for hub in hubs))
        assert done.count(True) == 1
        assert len(await Alerts(database).open()) == 1
        assert await AlertDeliveries(database).waiting() == 2

    async def test_no_two_are_open_under_one_key_though_a_lease_was_lost(
        self, database: Database
    ) -> None:
        await raise_one(database)
        with pytest.raises(IntegrityError):
            await keeping(database, "hub 2").apply([raised()], now=NOW + LEASE_S + 1)
        assert len(await Alerts(database).open()) == 1

    async def test_it_changes_and_ends(self, database: Database) -> None:
        ours = keeping(database)
        first = await raise_one(database)
        worse = condition(severity="critical", note="2 of 2")
        await ours.apply([AlertChanged(worse, "worse")], now=NOW + 1)
        await ours.apply([AlertChanged(condition(note="3"), "otherwise")], now=NOW + 2)
        await ours.apply([AlertResolved("k", NOW + 3, "part of: other")], now=NOW + 9)
        await ours.apply([AlertResolved("k", NOW + 3), AlertResolved("unknown", NOW)], now=NOW + 10)
        found = await Alerts(database).get(first.id)
        assert found is not None
        assert (found.until, found.changed_at) == (NOW + 3, NOW + 9)
        assert (found.detail.note, found.detail.why) == ("3", "part of: other")
        assert await happened(database, first.id) == ["raised", "worse", "resolved"]
        assert await Alerts(database).open() == []
        assert await ours.apply([raised()], now=NOW + 20)
        assert [each.id > first.id for each in await Alerts(database).open()] == [True]

    async def test_alerts_are_listed_by_filter(self, database: Database) -> None:
        alerts, ours = Alerts(database), keeping(database)
        await ours.apply(
            [raised(str(n), "critical" if n % 2 else "notice") for n in range(6)], now=NOW
        )
        await ours.apply([AlertResolved("0", NOW), AlertResolved("1", NOW)], now=NOW)

        async def keys(wanted: AlertFilter, before: int | None = None) -> str:
            found = await alerts.latest(wanted, before=before, limit=3)
            return "".join(each.key for each in found)

        assert await keys(AlertFilter()) == "543"
        third = (await alerts.latest(AlertFilter()))[2].id
        assert await keys(AlertFilter(), before=third) == "210"
        assert await keys(AlertFilter(which="over")) == "10"
        assert await keys(AlertFilter(which="open", severity="critical")) == "53"
        assert await keys(AlertFilter(kind="security")) == ""

    async def test_the_first_to_acknowledge_stays_the_one(self, database: Database) -> None:
        alerts, one = Alerts(database), await raise_one(database)
        for who in ("alice", "bob"):
            found = await alerts.acknowledge(one.id, who, now=NOW + 1)
            assert found is not None
            assert (found.acknowledged_by, found.acknowledged_at) == ("alice", NOW + 1)
        assert await alerts.acknowledge(one.id + 1, "bob", now=NOW) is None
        assert await happened(database, one.id) == ["raised", "acknowledged"]

    async def test_those_of_long_ago_are_forgotten_with_all_that_is_theirs(
        self, database: Database
    ) -> None:
        alerts, ours = Alerts(database), keeping(database)
        await ours.apply([raised("a"), raised("b")], now=NOW)
        await ours.apply([AlertResolved("a", NOW)], now=NOW)
        assert await alerts.purge(NOW) == 0
        assert await alerts.purge(NOW + 1) == 1
        assert [each.key for each in await alerts.latest(AlertFilter())] == ["b"]
        assert await AlertDeliveries(database).waiting() == 2


class TestMutes:
    async def test_a_muted_alert_sends_no_notification_even_when_raised_again(
        self, database: Database
    ) -> None:
        alerts, ours = Alerts(database), keeping(database)
        one = await raise_one(database)
        muted = await alerts.mute(one.id, "alice", NOW + 100, now=NOW)
        assert muted is not None
        assert muted.is_muted(NOW + 99)
        assert not muted.is_muted(NOW + 100)
        await ours.apply([AlertResolved("k", NOW + 1)], now=NOW + 1)
        await ours.apply([raised()], now=NOW + 2)
        assert await AlertDeliveries(database).waiting() == 2  # of the first time
        (again,) = await alerts.open()
        assert (again.muted_by, again.muted_until) == ("alice", NOW + 100)

    async def test_when_a_mute_is_over_one_is_reminded_once(self, database: Database) -> None:
        alerts, ours = Alerts(database), keeping(database)
        one = await raise_one(database)
        await alerts.mute(one.id, "alice", NOW + 20, now=NOW)
        await ours.apply([], now=NOW + 19)
        assert await AlertDeliveries(database).waiting() == 2
        for now in (NOW + 20, NOW + 21):
            await ours.apply([], now=now)
        assert await AlertDeliveries(database).waiting() == 4
        assert await happened(database, one.id) == ["raised", "muted", "unmuted"]

    async def test_it_can_be_taken_back(self, database: Database) -> None:
        alerts, one = Alerts(database), await raise_one(database)
        await alerts.mute(one.id, "alice", NOW + 20, now=NOW)
        found = await alerts.mute(one.id, "bob", NOW, now=NOW)
        assert found is not None
        assert (found.muted_by, found.muted_until) == ("", None)
        assert await alerts.mute(one.id + 1, "bob", NOW + 1, now=NOW) is None


class TestDeliveries:
    async def test_a_notification_names_the_alert_and_is_the_same_at_each_attempt(
        self, database: Database
    ) -> None:
        one, deliveries = await raise_one(database), AlertDeliveries(database)
        (first,) = await deliveries.due(["webhook a"], now=NOW)
        told = msgspec.json.decode(first.body)
        assert told["event"] == "raised"
        assert told["delivery"] == first.key
        assert told["url"] == f"https://hub.test/fleet/incidents/{one.id}"
        assert told["alert"]["title"] == "<b>k</b> молчит"
        await deliveries.failed(first, due_at=NOW + 5)
        assert await deliveries.due(["webhook a"], now=NOW + 4) == []
        (again,) = await deliveries.due(["webhook a"], now=NOW + 5)
        assert (again.key, again.body, again.attempts) == (first.key, first.body, 1)
        await deliveries.done(again, now=NOW, text="200")
        assert await deliveries.due(["webhook a"], now=NOW + 5) == []
        assert await happened(database, one.id) == ["raised", "told"]

    async def test_notifications_of_one_alert_keep_their_order(self, database: Database) -> None:
        deliveries, ours = AlertDeliveries(database), keeping(database)
        await ours.apply([raised("a"), raised("b")], now=NOW)
        await ours.apply([AlertResolved("a", NOW)], now=NOW)
        due = await deliveries.due(["mail"], now=NOW)
        assert [each.event for each in due] == ["raised", "raised"]
        await deliveries.failed(due[0], due_at=NOW + 60)
        assert [each.key for each in await deliveries.due(["mail"], now=NOW)] == [due[1].key]
        await deliveries.given_up(due[0], now=NOW, text="no answer")
        events = [each.event for each in await deliveries.due(["mail"], now=NOW)]
        assert events == ["raised", "resolved"]

    async def test_there_is_a_bound_on_what_waits(self, database: Database) -> None:
        ours = keeping(database, outlets=AlertChannels(channels=("mail",)))
        many = [raised(str(number)) for number in range(DELIVERIES_WAITING_MAX + 5)]
        await ours.apply(many, now=NOW)
        assert await AlertDeliveries(database).waiting() == DELIVERIES_WAITING_MAX
        assert len(await Alerts(database).open()) == DELIVERIES_WAITING_MAX + 5
