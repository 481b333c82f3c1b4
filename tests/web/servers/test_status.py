"""F9, F14: operators see what servers carry and will carry, and drain one."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.fleet.rendezvous.placement import ServerLoad
from tests.web.lake_world import SERVER, with_lake, write_lake
from tests.web.world import World, world

DRAIN = f"/api/v1/servers/{SERVER}/drain"


def load(name: str = SERVER, used: int = 40, age_s: float = 1.0) -> ServerLoad:
    at = time.time() - age_s
    return ServerLoad(name, "10.0.0.1:1", "ws://10.0.0.1", b"", b"", 100, used, 5, 0.5, 0.8, at)


@pytest.fixture
async def serving(hubworld: World) -> World:
    hubworld.hub.loads = [load()]
    return hubworld


async def test_a_server_is_drained_and_serves_again_and_the_audit_knows(serving: World) -> None:
    olga = await serving.signed_in("olga", "operator")
    drained = (await olga.put(DRAIN)).json()
    assert (drained["state"], drained["is_draining"], drained["drained_by"]) == (
        "draining",
        True,
        "olga",
    )
    [listed] = (await olga.get("/api/v1/servers")).json()
    assert listed == drained
    [serves] = [(await olga.delete(DRAIN)).json()]
    assert (serves["state"], serves["drained_since"]) == ("online", None)
    await olga.delete(DRAIN)  # once more changes nothing
    rows = await serving.site.audit.latest(target=SERVER)
    assert [(row.who, row.what) for row in rows] == [
        ("olga", "server.undrain"),
        ("olga", "server.drain"),
    ]


@pytest.mark.parametrize("name", ["x", "a" * 52, "%3Cscript%3E"])
async def test_a_server_that_never_reported_cannot_be_drained(serving: World, name: str) -> None:
    olga = await serving.signed_in("olga", "operator")
    assert (await olga.put(f"/api/v1/servers/{name}/drain")).status_code == 404


async def test_users_neither_see_nor_drain(serving: World) -> None:
    uma = await serving.signed_in("uma")
    for answer in (
        await uma.put(DRAIN),
        await uma.get("/fleet/servers"),
        await uma.get("/api/v1/servers/outlook"),
        await uma.post(f"/fleet/servers/{SERVER}/drain"),
    ):
        assert answer.status_code == 403
    assert (await serving.anonymous().get("/fleet/servers")).status_code == 401


async def test_silent_servers_come_last_and_are_marked(serving: World) -> None:
    serving.hub.loads = [load("b" * 52, 90, age_s=100), load("c" * 52, 10), load(used=20)]
    olga = await serving.signed_in("olga", "operator")
    states = [
        (one["hashname"][0], one["state"]) for one in (await olga.get("/api/v1/servers")).json()
    ]
    assert states == [(SERVER[0], "online"), ("c", "online"), ("b", "silent")]


async def test_the_page_drains_by_a_form(serving: World) -> None:
    olga = await serving.signed_in("olga", "operator")
    shown = (await olga.get("/fleet/servers")).text
    assert "40 of 100" in shown
    assert "5 reserved" in shown
    assert "rookery hub --forecast" in shown  # how to follow one
    answer = await olga.post(f"/fleet/servers/{SERVER}/drain")
    assert (answer.status_code, answer.headers["location"]) == (303, "/fleet/servers")
    part = (await olga.get("/fleet/servers/now")).text
    assert "Serve again" in part
    assert "<html" not in part


async def test_no_servers_name_the_next_command(hubworld: World) -> None:
    olga = await hubworld.signed_in("olga", "operator")
    assert "rookery fleet code --server" in (await olga.get("/fleet/servers")).text


@pytest.fixture
async def foreseen(tmp_path: Path, template: Path) -> AsyncIterator[World]:
    settings = with_lake(write_lake(tmp_path / "lake"))
    async with world(tmp_path, template, settings) as made:
        made.hub.loads = [load()]
        yield made


async def test_the_outlook_is_what_was_and_what_will_be(foreseen: World) -> None:
    olga = await foreseen.signed_in("olga", "operator")
    [outlook] = (await olga.get("/api/v1/servers/outlook")).json()
    known = {
        name: {
            at: value for at, value in zip(outlook["times"], outlook[name], strict=True) if value
        }
        for name in ("was", "expected", "high")
    }
    assert (outlook["hashname"], outlook["source"], outlook["confidence"]) == (SERVER, "lake", 0.5)
    assert max(known["was"].values()) == pytest.approx(0.43)
    assert max(known["was"]) < max(known["expected"])
    assert all(known["high"][at] >= share for at, share in known["expected"].items())
    shown = (await olga.get("/api/v1/overview")).json()["servers"]
    assert 0 < shown["expected_share"] < 0.5


async def test_without_a_lake_there_is_no_outlook_and_no_error(serving: World) -> None:
    olga = await serving.signed_in("olga", "operator")
    [outlook] = (await olga.get("/api/v1/servers/outlook")).json()
    assert (outlook["source"], outlook["times"]) == ("none", [])
    assert (await olga.get("/api/v1/servers/forecast")).json()["state"] == "off"
