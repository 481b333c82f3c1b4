"""F15: a device that is in the mesh: how it is reached and why, and what waits for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.web.mesh_world import MeshWorld, mesh_world
from tests.web.world import MAC

API = "/api/v1"
TEXT = MAC.hex(":")
BROWSER = {"accept": "text/html", "sec-fetch-site": "same-origin"}


@pytest.fixture
async def meshworld(tmp_path: Path, template: Path) -> AsyncIterator[MeshWorld]:
    async with mesh_world(tmp_path, template) as made:
        yield made


async def owner(made: MeshWorld, home: int) -> httpx.AsyncClient:
    """Of a device that is that member."""
    client = await made.hub.owner("alice")
    entry = await made.hub.hub.entry(MAC)
    assert entry is not None
    entry.hashname = made.homes[home].hashname
    assert await made.hub.hub.ram.put([entry]) == [True]
    return client


@pytest.mark.parametrize(("home", "reach"), [(1, "direct"), (2, "relayed")])
async def test_devices_tell_how_they_are_reached(
    meshworld: MeshWorld, home: int, reach: str
) -> None:
    alice = await owner(meshworld, home)
    (device,) = (await alice.get(f"{API}/devices")).json()
    assert (device["reach"], device["queued"]) == (reach, 0)
    route = (await alice.get(f"{API}/devices/{TEXT}/route")).json()
    assert route["lines"]
    (used,) = [each for each in route["ways"] if each["is_used"]]
    assert used["nodes"][-1] == meshworld.homes[home].hashname
    page = (await alice.get(f"/devices/{TEXT}/routes", headers=BROWSER)).text
    assert "Why this route" in page


async def test_owners_see_other_owners_relays_without_names(meshworld: MeshWorld) -> None:
    """Low: the route page named the relays of other tenants; operators still see them."""
    alice = await owner(meshworld, 2)
    relay = meshworld.homes[1].hashname
    answers = [
        await alice.get(f"{API}/devices/{TEXT}/route"),
        await alice.get(f"/devices/{TEXT}/routes", headers=BROWSER),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert "a relay of another owner" in answer.text
        assert "oslo" not in answer.text
        assert relay[:8] not in answer.text
    olga = await meshworld.hub.signed_in("olga", "operator")
    assert relay in (await olga.get(f"{API}/devices/{TEXT}/route")).text
    assert "oslo" in (await olga.get(f"/devices/{TEXT}/routes", headers=BROWSER)).text


async def test_requests_that_wait_are_listed_to_be_taken_back(meshworld: MeshWorld) -> None:
    alice = await owner(meshworld, 2)
    await meshworld.nodes[2].endpoint.close()
    outbox = meshworld.nodes[0].outbox
    request = outbox.request(b"hello", qos=1, expires_s=None)
    outbox.peer(meshworld.homes[2].hashname).add_packet(request)
    (device,) = (await alice.get(f"{API}/devices")).json()
    assert device["queued"] == 1
    page = (await alice.get(f"/devices/{TEXT}/queue", headers=BROWSER)).text
    assert f'data-cancel="{request.id}"' in page


async def test_a_device_outside_the_mesh_is_shown_by_its_address(meshworld: MeshWorld) -> None:
    alice = await meshworld.hub.owner("alice")
    await meshworld.hub.hub.report(address="192.0.2.7:4000")
    (device,) = (await alice.get(f"{API}/devices")).json()
    assert (device["reach"], device["queued"]) == ("", None)
    assert "192.0.2.7:4000" in (await alice.get("/", headers=BROWSER)).text
    assert (await alice.get(f"{API}/devices/{TEXT}/route")).status_code == 404
    for tab in ("routes", "queue"):
        page = await alice.get(f"/devices/{TEXT}/{tab}", headers=BROWSER)
        assert "not in the mesh" in page.text


async def test_devices_are_listed_while_the_mesh_node_is_away(meshworld: MeshWorld) -> None:
    alice = await owner(meshworld, 1)
    await meshworld.control.close()
    (device,) = (await alice.get(f"{API}/devices")).json()
    assert (device["state"], device["reach"]) == ("online", "")
    for tab in ("routes", "queue", "links"):
        page = await alice.get(f"/devices/{TEXT}/{tab}", headers=BROWSER)
        assert page.status_code == 200
