"""F15: a device's page and its tabs, the list, adding; nothing of another's device."""

import asyncio
import re
import time

import pytest

from rookery.web.accounts.caller import Caller
from rookery.web.devices.list_page import ROWS
from rookery.web.devices.tabs import TABS
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import DeviceReport, InterfaceCounters, LinkTelemetry
from tests.patience import PATIENCE_S
from tests.web.accounts.test_access import routes
from tests.web.world import MAC, World, code_of

API = "/api/v1"
TEXT = MAC.hex(":")
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "sec-fetch-site": "same-origin"}
SCRIPT = "<script>alert(1)</script>"
KEYS = [tab.key for tab in TABS]
REPORT = DeviceReport(
    t=1_763_280_000_000,
    up=7200.0,
    load=0.75,
    mem=0.4,
    disk=0.25,
    temp=48.5,
    ifs={"eth0": InterfaceCounters(1000, 2000, 3, 4, 5, 6), SCRIPT: InterfaceCounters()},
    links=(LinkTelemetry(SCRIPT, "udp4", 12.5, 0.01, 900.0),),
    agent="0.1.0",
    system=SCRIPT,
)


def path(key: str) -> str:
    return f"/devices/{TEXT}" + (f"/{key}" if key else "")


@pytest.mark.parametrize("key", KEYS)
async def test_each_tab_has_an_address_a_command_and_the_same_as_json(
    hubworld: World, key: str
) -> None:
    """F15."""
    alice = await hubworld.owner("alice")
    await hubworld.hub.report(content=telemetry.encode(REPORT), address="192.0.2.7:4000")
    page = await alice.get(path(key), headers=BROWSER)
    assert page.status_code == 200
    assert f'href="{path(key)}" aria-current="page"' in page.text
    assert 'data-copy="rookery ' in page.text
    (url,) = re.findall(r'class="tool" href="(/api/[^"]+)"', page.text)
    assert (await alice.get(url)).status_code in (200, 404)  # 404: there is no mesh here


@pytest.mark.parametrize("key", KEYS)
async def test_what_a_device_says_of_itself_is_shown_as_it_is(hubworld: World, key: str) -> None:
    alice = await hubworld.owner("alice")
    await alice.patch(f"{API}/devices/{TEXT}", json={"name": SCRIPT})
    await hubworld.hub.report(content=telemetry.encode(REPORT), address="192.0.2.7:4000")
    page = (await alice.get(path(key), headers=BROWSER)).text
    assert SCRIPT not in page
    assert "&lt;script&gt;alert(1)" in page


async def test_a_tab_that_does_not_exist_is_not_found(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    assert (await alice.get(path("nothing"))).status_code == 404


async def test_no_route_reaches_the_device_of_another(hubworld: World) -> None:
    """F15: whatever route names a device, now and in future."""
    await hubworld.owner("alice")
    mallory = await hubworld.signed_in("mallory")
    bodies = {"PATCH": {"name": "mine"}}
    tried = 0
    for route in routes(hubworld.app):
        if "{mac:str}" not in route.path:
            continue
        for key in KEYS[1:] if "{tab:str}" in route.path else [""]:
            url = route.path.replace("{mac:str}", TEXT).replace("{tab:str}", key)
            url = url.replace("{request_id:int}", "1")
            if route.method == "OPTIONS":
                continue
            async with asyncio.timeout(PATIENCE_S):  # what is let through waits for a router
                answer = await mallory.request(
                    route.method,
                    url,
                    json=bodies.get(route.method),
                    data={"name": "mine"} if url.endswith("/name") else None,
                )
            assert answer.status_code == 403, f"{route.method} {url}: {answer.text}"
            assert answer.json()["code"] == "foreign"
            tried += 1
    assert tried >= 20
    assert (await mallory.get("/", headers=BROWSER)).text.count(TEXT) == 0


async def test_operators_look_at_every_device_and_change_none(hubworld: World) -> None:
    await hubworld.owner("alice")
    olga = await hubworld.signed_in("olga", "operator")
    page = (await olga.get(path("access"), headers=BROWSER)).text
    assert "alice" in page
    assert "/release" not in page
    assert f"/devices/{TEXT}/name" not in page
    assert "data-connect" not in page
    shown = (await olga.get(f"{API}/devices/{TEXT}")).json()
    assert (shown["is_mine"], shown["owner"]) == (False, "alice")
    for answer in (
        await olga.patch(f"{API}/devices/{TEXT}", json={"name": "mine"}),
        await olga.delete(f"{API}/devices/{TEXT}"),
        await olga.post(f"/devices/{TEXT}/release"),
        await olga.post(f"{API}/devices/{TEXT}/connect"),
    ):
        assert answer.status_code == 403
    await hubworld.hub.report(bytes.fromhex("02fc00000009"))
    nobodys = (await olga.get("/devices/02:fc:00:00:00:09", headers=BROWSER)).text
    assert "data-connect" in nobodys
    assert (await olga.get("/devices/02:fc:00:00:00:0a")).status_code == 404


async def test_the_last_report_is_shown_in_full(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    assert (await alice.get(f"{API}/devices/{TEXT}/report")).status_code == 404
    await hubworld.hub.report(content=telemetry.encode(REPORT))
    shown = (await alice.get(f"{API}/devices/{TEXT}/report")).json()
    assert (shown["up_s"], shown["load"], shown["temp"]) == (7200.0, 0.75, 48.5)
    assert shown["interfaces"][0] == {
        "name": "eth0",
        "received_bytes": 1000,
        "sent_bytes": 2000,
        "received_packets": 3,
        "sent_packets": 4,
        "errors": 5,
        "drops": 6,
    }
    assert shown["links"][0]["rtt_ms"] == 12.5


async def claimed(hubworld: World, login: str, count: int) -> None:
    account = await hubworld.site.accounts.find(login)
    assert account is not None
    for number in range(count):
        mac = b"\x02\xfd" + number.to_bytes(4, "big")
        if number % 2:
            await hubworld.hub.report(mac, ago_s=1 if number % 4 == 1 else 600)
        await hubworld.site.devices.claim(mac, account.id, f"device {number:04}", now=1.0)


async def test_the_list_is_paged_and_filtered(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    await claimed(hubworld, "alice", 2 * ROWS + 1)

    async def rows(query: str) -> list[str]:
        page = await alice.get(f"/?{query}", headers=BROWSER)
        return re.findall(r'class="name" href="[^"]+">([^<]+)<', page.text)

    assert len(await rows("")) == ROWS
    assert await rows("page=3") == ["device 0100"]
    assert await rows("page=99") == ["device 0100"]
    assert await rows("page=rubbish") == await rows("page=1")
    assert await rows("text=0042") == ["device 0042"]
    assert await rows("text=02:fd:00:00:00:07") == ["device 0007"]
    assert len(await rows("state=online")) == 25
    assert len(await rows("state=silent")) == 25
    assert await rows("text=%3Cscript%3E") == []
    page = await alice.get("/?text=%22%3E%3Cscript%3E", headers=BROWSER)
    assert "<script>" not in page.text


@pytest.mark.slow
async def test_a_thousand_devices_are_listed_quickly(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    await claimed(hubworld, "alice", 1000)
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        page = await alice.get("/", headers=BROWSER)
        took.append(time.perf_counter() - begun)
    assert 'data-count="all">1000<' in page.text
    assert len(page.content) < 120_000
    assert min(took) < 1.0


async def test_a_new_code_comes_with_its_command_and_a_picture_of_it(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    assert "QR" not in (await alice.get("/add", headers=BROWSER)).text
    page = (await alice.post("/add", headers=BROWSER)).text
    assert "ROOKERY_CODE=" in page
    (drawn,) = re.findall(r'<svg[^>]*class="qr".*?</svg>', page, re.DOTALL)
    assert "style" not in drawn
    assert 'd="M' in drawn


async def test_a_wrong_code_is_shown_at_its_field(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    await hubworld.hub.report()
    form = {"mac": TEXT, "code": "AAAAAAAAAA", "name": SCRIPT}
    page = await alice.post("/claim", data=form, headers=BROWSER)
    assert page.status_code == 403
    assert "not the code that the device shows" in page.text
    assert f'value="{TEXT}"' in page.text
    assert SCRIPT not in page.text
    form["code"] = code_of()
    done = await alice.post("/claim", data=form, headers=BROWSER)
    assert (done.status_code, done.headers["location"]) == (303, f"/devices/{TEXT}")


async def test_only_ones_own_devices_are_followed_live(hubworld: World) -> None:
    await hubworld.owner("alice")
    await hubworld.signed_in("mallory")
    (topic,) = [one for one in hubworld.site.live.topics if one.name == "devices"]
    assert not topic.is_shared
    seen = {}
    for login in ("alice", "mallory"):
        account = await hubworld.site.accounts.find(login)
        assert account is not None
        caller = Caller(account=account.id, login=login, role="user")
        seen[login] = list(await topic.read(hubworld.site, caller))
    assert seen == {"alice": [TEXT], "mallory": []}
