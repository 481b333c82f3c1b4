"""F14: the hub itself, the audit and the topics, as pages and for programs."""

import time
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from rookery.fleet.reports.validator_settings import ReportValidatorCounters
from rookery.hub.metrics import HubCounts
from rookery.hub.registry.entry_writer import HubBacklog
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.run_record import RunRecord, save
from rookery.lake.schema import facts
from rookery.store.accounts.audit import AuditRow
from rookery.web.system.report_rates import ReportRates
from rookery.web.system.status import REFUSED, TAKEN
from tests.web.lake_world import HOSTILE, NOON, append, with_lake
from tests.web.world import SETTINGS, World, world


@pytest.fixture
def counted(hubworld: World) -> World:
    hub = hubworld.hub
    hub.judged = ReportValidatorCounters(reports=50, forged=2, enrolled=1)
    hub.counted = HubCounts({"shed": 3, "conflict": 0}, 4, 5, 6)
    hub.waiting = HubBacklog(1000, None, is_full=False, unsaved_entries=7)
    hub.present = {("router", "present"): 12}
    return hubworld


async def test_the_hub_says_how_it_is(counted: World) -> None:
    async with aclosing(await counted.signed_in("olga", "operator")) as client:
        system = (await client.get("/api/v1/system")).json()
    assert system["is_ready"]
    assert [store["state"] for store in system["stores"]] == ["ok", "ok"]
    assert system["reports"]["taken"]["reports"] == 50
    assert system["reports"]["refused"] == {"forged": 2}
    assert system["census"]["router"] == {"present": 12, "silent": 0}
    assert system["reports"]["undecided"] == {"shed": 3}
    assert (system["reports"]["dropped"], system["spool"]["failed_writes"]) == (4, 5)
    assert (system["clock_steps"], system["unsaved_entries"]) == (6, 7)
    assert system["spool"]["size_bytes"] == 1000
    assert system["spool"]["unlanded_bytes"] is None
    assert system["forecast"] == {"state": "off", "expires_at": None, "refused": 0}
    assert (system["mesh"]["state"], system["lake"]["state"]) == ("none", "none")
    assert system["memory_bytes"] > 1 << 20


def test_all_fates_of_reports_are_counted() -> None:
    counters = msgspec.structs.asdict(ReportValidatorCounters())
    assert {*TAKEN, *REFUSED} <= counters.keys()


async def test_a_store_that_does_not_answer_is_shown_as_away(
    counted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no() -> bool:
        return False

    async with aclosing(await counted.signed_in("olga", "operator")) as client:
        monkeypatch.setattr(counted.hub.hot, "ready", no)
        system = (await client.get("/api/v1/system")).json()
        assert not system["is_ready"]
        assert [store["state"] for store in system["stores"]] == ["ok", "away"]
        page = await client.get("/fleet/system", headers={"accept": "text/html"})
        assert "away" in page.text


async def test_the_page_names_what_to_do_next(hubworld: World) -> None:
    async with aclosing(await hubworld.signed_in("olga", "operator")) as client:
        page = (await client.get("/fleet/system", headers={"accept": "text/html"})).text
        assert "rookery hub --node FOLDER" in page
        assert "rookery hub --lake LAKE" in page
        topics = (await client.get("/fleet/topics", headers={"accept": "text/html"})).text
        assert "rookery hub --lake LAKE" in topics
        assert (await client.get("/api/v1/topics")).status_code == 404


def test_a_rate_is_what_lies_between_two_samples(hubworld: World) -> None:
    samples = ReportRates(hubworld.hub)
    assert samples.rates() == []
    for now, reports in ((0.0, 0), (10.0, 20), (20.0, 20), (30.0, 5)):
        hubworld.hub.judged.reports = reports
        samples.sample(now)
    assert samples.rates() == [2.0, 0.0, 0.0]


async def test_the_audit_is_filtered_by_account_action_and_target(hubworld: World) -> None:
    rows = [
        AuditRow(at=time.time(), who=who, what=what, target=target, detail={"outcome": "ok"})
        for who, what, target in (
            ("alice", "device.claim", "02:fc"),
            ("bob", "device.rename", "02:fc"),
            ("bob", "devicewide.x", HOSTILE),
        )
    ]
    async with aclosing(await hubworld.signed_in("root", "admin")) as client:
        await hubworld.site.audit.add(*rows)

        async def found(**query: str) -> list[str]:
            return [row["what"] for row in (await client.get("/api/v1/audit", params=query)).json()]

        assert await found(what="device") == ["device.rename", "device.claim"]
        assert await found(what="device.claim") == ["device.claim"]
        assert await found(what="device", who="bob") == ["device.rename"]
        assert await found(what="%") == []
        page = (await client.get("/fleet/audit", headers={"accept": "text/html"})).text
        assert HOSTILE not in page
        assert "devicewide.x" in page
        query = {"what": "device", "who": "bob"}
        narrow = await client.get("/fleet/audit", params=query, headers={"accept": "text/html"})
        assert "device.rename" in narrow.text
        assert "devicewide" not in narrow.text


async def test_the_audit_a_page_at_a_time(hubworld: World) -> None:
    async with aclosing(await hubworld.signed_in("root", "admin")) as client:
        client.headers["accept"] = "text/html"
        rows = [AuditRow(at=NOON.timestamp(), who=f"who{n}", what="x.y") for n in range(70)]
        await hubworld.site.audit.add(*rows)
        first = (await client.get("/fleet/audit", params={"what": "x"})).text
        assert first.count(">x.y<") == 50
        before = first.partition("before=")[2].partition('"')[0]
        second = (await client.get("/fleet/audit", params={"what": "x", "before": before})).text
        assert second.count(">x.y<") == 20
        nothing = (await client.get("/fleet/audit", params={"what": "unheard"})).text
        assert "No matching records" in nothing


@pytest.mark.parametrize(
    ("path", "status"),
    [("/fleet/audit", 403), ("/fleet/system", 200), ("/fleet/topics", 200), ("/api/v1/audit", 403)],
)
async def test_the_audit_is_for_administrators(hubworld: World, path: str, status: int) -> None:
    async with (
        aclosing(await hubworld.signed_in("olga", "operator")) as client,
        hubworld.anonymous() as anonymous,
    ):
        assert (await client.get(path)).status_code == status
        assert (await anonymous.get(path)).status_code == 401


async def test_topics_are_those_of_the_lakes_last_day(tmp_path: Path, template: Path) -> None:
    hours = [
        {
            **{"theme": theme, "publisher": publisher, "qos": 1, "messages": messages},
            **{"bytes": 10 * messages, "bytes_max": 99, "hour": NOON - timedelta(hours=ago)},
        }
        for theme, publisher, messages, ago in (
            ("sensors/kitchen", "pub-1", 60, 0),
            ("sensors/kitchen", "pub-2", 40, 5),
            ("sensors/kitchen", "pub-2", 7, 30),  # of the day before
            (HOSTILE, "pub-3", 1, 2),
        )
    ]
    append(Lake(str(tmp_path / "lake")), facts.MESSAGE_HOURS, hours)
    async with (
        world(tmp_path, template, with_lake(tmp_path / "lake")) as made,
        aclosing(await made.signed_in("olga", "operator")) as client,
    ):
        found = (await client.get("/api/v1/topics")).json()
        kitchen, other = found["themes"]
        assert (kitchen["theme"], kitchen["messages"]) == ("sensors/kitchen", 100)
        assert (kitchen["bytes"], kitchen["publishers"]) == (1000, 2)
        assert kitchen["names"] == ["pub-1", "pub-2"]
        assert (kitchen["per_hour"][-1], kitchen["per_hour"][-6]) == (60, 40)
        assert other["theme"] == HOSTILE
        page = (await client.get("/fleet/topics", headers={"accept": "text/html"})).text
        assert "sensors/kitchen" in page
        assert HOSTILE not in page
        system = (await client.get("/api/v1/system")).json()
        assert system["lake"]["state"] == "ok"


async def test_the_last_run_of_the_lake_is_shown_where_it_failed(
    tmp_path: Path, template: Path
) -> None:
    lake = Lake(str(tmp_path / "lake"))
    failed = RunRecord(
        ended_at=NOON.timestamp(),
        ok=False,
        step="facts/sessions",
        error=f"java.lang.InternalError: {HOSTILE}",
        host="box",
        log="/var/log/spark.log",
    )
    save(lake, RunRecord(ended_at=NOON.timestamp(), ok=True))
    async with (
        world(tmp_path, template, with_lake(tmp_path / "lake")) as made,
        aclosing(await made.signed_in("olga", "operator")) as client,
    ):
        page = (await client.get("/fleet/system", headers={"accept": "text/html"})).text
        assert '<p id="lake-run" hidden>' in page
        assert (await client.get("/api/v1/system")).json()["lake_run"]["ok"]
        save(lake, failed)
        assert made.site.lake is not None
        made.site.lake._kept.clear()
        run = (await client.get("/api/v1/system")).json()["lake_run"]
        assert (run["ok"], run["step"], run["failures"]) == (False, "facts/sessions", 1)
        assert (run["host"], run["log"]) == ("box", "/var/log/spark.log")
        headers = {"accept": "text/html", "accept-language": "en"}
        page = (await client.get("/fleet/system", headers=headers)).text
        assert '<p id="lake-run">' in page
        assert "the last run failed" in page
        assert "java.lang.InternalError" in page
        assert HOSTILE not in page
        headers["accept-language"] = "ru"
        page = (await client.get("/fleet/system", headers=headers)).text
        assert "последний запуск не удался" in page


async def test_a_lake_without_messages_names_the_broker(tmp_path: Path, template: Path) -> None:
    async with (
        world(tmp_path, template, with_lake(tmp_path / "lake")) as made,
        aclosing(await made.signed_in("olga", "operator")) as client,
    ):
        page = (await client.get("/fleet/topics", headers={"accept": "text/html"})).text
        assert "rookery crow broker --observe" in page
        assert SETTINGS.lake == ""
