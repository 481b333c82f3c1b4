"""F14, F15: incidents over the API and as pages: seen, acknowledged, muted, each on record."""

import time
from contextlib import aclosing
from itertools import pairwise

import httpx
import pytest

from rookery.fleet.alerts.alert import (
    AlertCondition,
    AlertKind,
    AlertRaised,
    AlertResolved,
    Severity,
)
from rookery.store.alerts.writer import AlertChannels, AlertWriter
from rookery.web.alerts.timeline import ROWS_MAX, WIDTH, alert_timeline
from rookery.web.alerts.titles import PATTERNS, translated
from rookery.web.words.translation import PageTranslation
from tests.web.world import MAC, World

API = "/api/v1/alerts"
SCRIPT = "<script>alert(1)</script>"
NOW = time.time()
BROWSER = {"accept": "text/html", "sec-fetch-site": "same-origin"}


def condition(
    key: str = "k",
    severity: Severity = "warning",
    kind: AlertKind = "device_silent",
    title: str = "attic is silent",
    entities: tuple[str, ...] = (f"router {MAC.hex(':')}",),
) -> AlertCondition:
    return AlertCondition(
        key=key,
        kind=kind,
        severity=severity,
        title=title,
        entities=entities,
        cause="site 192.0.2.0/24",
        note="1 of 2",
    )


def keeping(world: World) -> AlertWriter:
    return AlertWriter(world.hub.database, "test", "test", AlertChannels())


async def raise_some(world: World, *conditions: AlertCondition, since: float = NOW - 60) -> None:
    raised = [AlertRaised(each, since) for each in conditions or (condition(),)]
    assert await keeping(world).apply(raised, now=NOW)


async def operator(world: World) -> httpx.AsyncClient:
    return await world.signed_in("olga", "operator")


async def test_an_operator_sees_acknowledges_and_mutes(hubworld: World) -> None:
    await raise_some(hubworld)
    async with aclosing(await operator(hubworld)) as client:
        (alert,) = (await client.get(API, params={"which": "open"})).json()
        assert (alert["title"], alert["until"]) == ("attic is silent", None)
        seen = (await client.post(f"{API}/{alert['id']}/acknowledge")).json()
        assert seen["acknowledged_by"] == "olga"
        muted = (await client.post(f"{API}/{alert['id']}/mute", json={"seconds": 60})).json()
        assert muted["muted_until"] > time.time()
        shown = (await client.get(f"{API}/{alert['id']}")).json()
        assert [each["what"] for each in shown["events"]] == ["raised", "acknowledged", "muted"]
        over = (await client.get(API, params={"which": "over"})).json()
        assert over == []
    rows = await hubworld.site.audit.latest(what="alert")
    assert [row.what for row in rows] == ["alert.mute", "alert.acknowledge"]


async def test_filters_and_pages(hubworld: World) -> None:
    await raise_some(hubworld, *(condition(str(n), "notice") for n in range(4)))
    await raise_some(hubworld, condition("x", "critical", "security"))
    async with aclosing(await operator(hubworld)) as client:

        async def keys(**query: str | int) -> str:
            found = (await client.get(API, params=query)).json()
            return "".join(each["key"] for each in found)

        assert await keys(severity="critical") == "x"
        assert await keys(kind="device_silent", count=2) == "32"
        assert await keys(before=3) == "10"
        assert (await client.get(API, params={"severity": "dire"})).status_code == 400


@pytest.mark.parametrize("path", [API, f"{API}/1", "/fleet/incidents", "/fleet/incidents/1"])
async def test_others_see_nothing(hubworld: World, path: str) -> None:
    await raise_some(hubworld)
    async with aclosing(await hubworld.owner()) as client, hubworld.anonymous() as anonymous:
        assert (await client.get(path)).status_code == 403
        assert (await anonymous.get(path)).status_code == 401


async def test_what_is_not_there_is_404(hubworld: World) -> None:
    async with aclosing(await operator(hubworld)) as client:
        for path in (f"{API}/7", f"{API}/{1 << 70}", "/fleet/incidents/7"):
            assert (await client.get(path)).status_code == 404
        assert (await client.post(f"{API}/7/acknowledge")).status_code == 404
        assert (await client.post(f"{API}/7/mute", json={"seconds": 1})).status_code == 404
        for seconds in (-1, 1e9, "x"):
            bad = await client.post(f"{API}/7/mute", json={"seconds": seconds})
            assert bad.status_code == 400


async def test_the_page_without_any_script(hubworld: World) -> None:
    await raise_some(hubworld, condition(title=f"{SCRIPT} is silent"))
    async with aclosing(await operator(hubworld)) as client:
        client.headers.update(BROWSER)
        page = (await client.get("/fleet/incidents")).text
        assert SCRIPT not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt; is silent" in page
        done = await client.post("/fleet/incidents/1/acknowledge?from=list")
        assert (done.status_code, done.headers["location"]) == (303, "/fleet/incidents")
        muted = await client.post("/fleet/incidents/1/mute", data={"seconds": "3600"})
        assert muted.headers["location"] == "/fleet/incidents/1"
        story = (await client.get("/fleet/incidents/1")).text
        assert "seen by olga" in story
        assert "No longer muted" not in story
        assert "/fleet/devices?text=02%3Afc%3A00%3A00%3A00%3A01" in story
        await client.post("/fleet/incidents/1/mute", data={"seconds": "0"})
        assert "No longer muted" in (await client.get("/fleet/incidents/1")).text


async def test_muting_until_a_time(hubworld: World) -> None:
    await raise_some(hubworld)
    async with aclosing(await operator(hubworld)) as client:
        path = "/fleet/incidents/1/mute"
        year = time.gmtime().tm_year
        for until in ("tomorrow", "2001-01-01T00:00", f"{year + 3}-01-01T00:00"):
            assert (await client.post(path, data={"until": until})).status_code == 400
        soon = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 7200))
        assert (await client.post(path, data={"until": soon})).status_code == 303
    found = await hubworld.site.alerts.get(1)
    assert found is not None
    assert 7000 < (found.muted_until or 0) - time.time() < 7300


async def test_another_site_cannot_have_it_acknowledged(hubworld: World) -> None:
    await raise_some(hubworld)
    async with aclosing(await operator(hubworld)) as client:
        headers = {"origin": "https://evil.test", "sec-fetch-site": "cross-site"}
        answer = await client.post("/fleet/incidents/1/acknowledge", headers=headers)
        assert answer.status_code == 403


async def test_nothing_at_all_and_far_too_much(hubworld: World) -> None:
    async with aclosing(await operator(hubworld)) as client:
        client.headers.update(BROWSER)
        assert "No open incidents" in (await client.get("/fleet/incidents")).text
        many = tuple(f"router 02:fc:00:00:{n // 256:02x}:{n % 256:02x}" for n in range(190))
        await raise_some(hubworld, *(condition(f"k{n}", entities=many) for n in range(60)))
        await keeping(hubworld).apply([AlertResolved(f"k{n}", NOW) for n in range(40)], now=NOW)
        page = (await client.get("/fleet/incidents")).text
        assert page.count('<li id="incident-') == 20
        assert page.count('<tr id="incident-') == 30
        assert "+184" in page
        older = (await client.get("/fleet/incidents", params={"which": "over", "before": 11})).text
        assert older.count('<tr id="incident-') == 10
        part = (await client.get("/fleet/incidents", params={"part": "list"})).text
        assert "<html" not in part
        assert (await client.get("/fleet/incidents", params={"which": "x", "kind": "y"})).is_success


async def test_titles_are_translated_into_russian(hubworld: World) -> None:
    await raise_some(hubworld)
    async with aclosing(await operator(hubworld)) as client:
        client.headers.update(BROWSER | {"accept-language": "ru"})
        page = (await client.get("/fleet/incidents")).text
        assert "attic молчит" in page
        assert "1 из 2" in page


def test_every_title_has_russian_words() -> None:
    russian, english = PageTranslation("ru"), PageTranslation("en")
    for pattern in PATTERNS:
        title = pattern.replace("{}", "x")
        assert translated(title, english) == title
        assert translated(title, russian) not in (title, ""), pattern
    assert translated("something new", russian) == "something new"
    assert translated("3 devices are silent: site 192.0.2.0/24", russian).endswith(
        "площадка 192.0.2.0/24"
    )


async def test_the_strip_has_a_bar_for_each_and_no_two_overlap(hubworld: World) -> None:
    await raise_some(hubworld, *(condition(f"old{n}") for n in range(3)), since=NOW - 90_000)
    await keeping(hubworld).apply([AlertResolved("old0", NOW - 89_000)], now=NOW)
    await raise_some(hubworld, *(condition(f"new{n}") for n in range(9)), since=NOW - 1)
    made = alert_timeline(await hubworld.site.alerts.open(), NOW)
    rows: dict[float, list[tuple[float, float]]] = {}
    for bar in made.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= WIDTH + 0.1
        rows.setdefault(bar.y, []).append((bar.x, bar.x + bar.width))
    for spans in rows.values():
        spans.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert len(rows) == ROWS_MAX
    assert len(made.bars) + made.omitted == 11
