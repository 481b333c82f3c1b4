"""All routers, for operators: filtered, paged, and followed as far as somebody looks."""

import re

import httpx

from rookery.web.accounts.caller import Caller
from rookery.web.devices.shown_devices import ShownDevices
from tests.web.world import World

API = "/api/v1"
BROWSER = {"accept": "text/html", "sec-fetch-site": "same-origin"}
MACS = [bytes.fromhex(f"02fc000000{number:02x}") for number in range(8)]


async def peopled(hubworld: World) -> httpx.AsyncClient:
    """Eight routers: four of Alice's, one of Bob's, three of nobody; half of them silent."""
    olga = await hubworld.signed_in("olga", "operator")
    for login in ("alice", "bob"):
        await hubworld.account(login)
    for number, mac in enumerate(MACS):
        ago_s = 600 if number % 2 else 1
        await hubworld.hub.report(mac, ago_s=ago_s, address=f"192.0.2.{number}:4000")
        owner = "alice" if number < 4 else "bob" if number == 4 else None
        account = await hubworld.site.accounts.find(owner) if owner else None
        if account is not None:
            name = f"Attic {number} 100%"
            await hubworld.site.devices.claim(mac, account.id, name, now=1.0)
    return olga


async def found(olga: httpx.AsyncClient, **query: str) -> list[int]:
    answer = await olga.get(f"{API}/routers", params=query)
    assert answer.status_code == 200, answer.text
    return [int(router["mac"][-2:], 16) for router in answer.json()["routers"]]


async def test_devices_are_found_by_state_owner_and_text(hubworld: World) -> None:
    olga = await peopled(hubworld)
    assert await found(olga) == list(range(8))
    assert await found(olga, state="silent") == [1, 3, 5, 7]
    assert await found(olga, owner="alice") == [0, 1, 2, 3]
    assert await found(olga, owner="ALICE", state="online") == [0, 2]
    assert await found(olga, owner="-") == [5, 6, 7]
    assert await found(olga, owner="nobody knows") == []
    assert await found(olga, text="attic 2") == [2]
    assert await found(olga, text="0%") == [0, 1, 2, 3, 4]
    assert await found(olga, text="_ttic") == []
    assert await found(olga, text="00:07") == [7]
    assert await found(olga, text="192.0.2.5") == [5]
    assert await found(olga, text="' OR 1=1 --") == []
    assert (await olga.get(f"{API}/routers", params={"state": "odd"})).status_code == 400


async def test_a_filter_holds_from_page_to_page(hubworld: World) -> None:
    olga = await peopled(hubworld)
    first = (await olga.get(f"{API}/routers", params={"owner": "alice", "count": "3"})).json()
    assert len(first["routers"]) == 3
    assert await found(olga, owner="alice", count="3", after=first["next"]) == [3]


async def test_the_page_has_filter_rows_and_next_page(hubworld: World) -> None:
    olga = await peopled(hubworld)
    page = (await olga.get("/fleet/devices?owner=alice", headers=BROWSER)).text
    assert len(re.findall(r'<tr data-key="', page)) == 4
    assert "/api/v1/routers?owner=alice" in page
    empty = (await olga.get("/fleet/devices?text=nothing", headers=BROWSER)).text
    assert "No device fits" in empty
    last = (await olga.get("/fleet/devices?after=02:fc:00:00:00:06", headers=BROWSER)).text
    assert len(re.findall(r'<tr data-key="', last)) == 1
    assert (await olga.get("/fleet/devices?after=rubbish")).status_code == 400
    hostile = await olga.get("/fleet/devices?owner=%22%3E%3Cscript%3E", headers=BROWSER)
    assert "<script>" not in hostile.text


async def test_without_any_device_the_page_names_a_command(hubworld: World) -> None:
    olga = await hubworld.signed_in("olga", "operator")
    page = (await olga.get("/fleet/devices", headers=BROWSER)).text
    assert "rookery fleet simulate" in page


async def test_only_rows_that_were_shown_are_followed(hubworld: World) -> None:
    olga = await peopled(hubworld)
    (topic,) = [one for one in hubworld.site.live.topics if one.name == "routers"]
    assert (topic.role, topic.is_shared) == ("operator", True)
    operator = Caller(account=0, login="", role="operator")
    assert await topic.read(hubworld.site, operator) == {}
    await olga.get("/fleet/devices?owner=bob", headers=BROWSER)
    assert list(await topic.read(hubworld.site, operator)) == [MACS[4].hex(":")]


def test_what_was_shown_long_ago_is_not_followed_any_more() -> None:
    shown = ShownDevices(devices_max=3)
    shown.note(MACS[:3])
    shown.note([MACS[0], MACS[5]])
    assert shown.macs == [MACS[2], MACS[0], MACS[5]]
