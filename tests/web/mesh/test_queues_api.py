"""What waits in the outbox of the node beside the hub: looked at, and taken back."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from rookery.store.accounts.audit import AuditRow
from tests.web.mesh_world import MeshWorld, mesh_world
from tests.web.world import MAC

API = "/api/v1"
OTHER = bytes.fromhex("02fc00000002")


@pytest.fixture
async def meshworld(tmp_path: Path, template: Path) -> AsyncIterator[MeshWorld]:
    """Rome is gone, so that what is for it waits."""
    async with mesh_world(tmp_path, template) as made:
        await made.nodes[2].endpoint.close()
        yield made


def waiting(world: MeshWorld, home: int, text: bytes) -> int:
    """The number of a request for that member."""
    outbox = world.nodes[0].outbox
    request = outbox.request(text, qos=1, expires_s=None)
    outbox.peer(world.homes[home].hashname).add_packet(request)
    return request.id


async def owner(world: MeshWorld, login: str, home: int, mac: bytes = MAC) -> httpx.AsyncClient:
    """Somebody whose device is that member of the mesh."""
    client = await world.hub.owner(login, mac)
    entry = await world.hub.hub.entry(mac)
    assert entry is not None
    entry.hashname = world.homes[home].hashname
    assert await world.hub.hub.ram.put([entry]) == [True]
    return client


async def cancellations(world: MeshWorld) -> list[AuditRow]:
    return [row for row in await world.hub.site.audit.latest() if row.what == "queue.cancel"]


async def test_operators_see_all_queues_and_take_requests_back(meshworld: MeshWorld) -> None:
    olga = await meshworld.hub.signed_in("olga", "operator")
    assert (await olga.get(f"{API}/mesh/queues")).json() == []
    first, second = waiting(meshworld, 2, b"one"), waiting(meshworld, 2, b"three")
    (queue,) = (await olga.get(f"{API}/mesh/queues")).json()
    rome = meshworld.homes[2].hashname
    assert (queue["hashname"], queue["name"], queue["requests"]) == (rome, "rome.gw1", 2)
    listed = (await olga.get(f"{API}/mesh/queues/rome.gw1")).json()
    assert [(one["id"], one["bytes"], one["qos"]) for one in listed] == [
        (first, 3, 1),
        (second, 5, 1),
    ]
    gone = await olga.delete(f"{API}/mesh/queues/rome.gw1/{first}")
    assert (gone.status_code, gone.content) == (204, b"")
    assert [one["id"] for one in (await olga.get(f"{API}/mesh/queues/rome.gw1")).json()] == [second]
    again = await olga.delete(f"{API}/mesh/queues/rome.gw1/{first}")
    assert (again.status_code, again.json()["code"]) == (409, "gone")
    assert (await olga.get(f"{API}/mesh/queues/nobody")).status_code == 404
    (noted,) = await cancellations(meshworld)
    assert (noted.who, noted.target, noted.detail["request"]) == ("olga", rome, first)


async def test_owners_see_what_waits_for_their_own_device_alone(meshworld: MeshWorld) -> None:
    """F15."""
    alice = await owner(meshworld, "alice", 2)
    mallory = await owner(meshworld, "mallory", 1, OTHER)
    number = waiting(meshworld, 2, b"for alice")
    place = f"{API}/devices/{MAC.hex(':')}/queue"
    assert [one["id"] for one in (await alice.get(place)).json()] == [number]
    assert (await mallory.get(f"{API}/devices/{OTHER.hex(':')}/queue")).json() == []
    for refused in (
        await mallory.get(place),
        await mallory.delete(f"{place}/{number}"),
        await mallory.delete(f"{API}/mesh/queues/rome.gw1/{number}"),
    ):
        assert refused.status_code == 403
    elsewhere = await mallory.delete(f"{API}/devices/{OTHER.hex(':')}/queue/{number}")
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (409, "gone")
    assert (await alice.delete(f"{place}/{number}")).status_code == 204
    assert (await alice.get(place)).json() == []
    (noted,) = await cancellations(meshworld)
    assert (noted.who, noted.target) == ("alice", MAC.hex(":"))


async def test_nothing_waits_for_a_device_outside_the_mesh(meshworld: MeshWorld) -> None:
    alice = await meshworld.hub.owner("alice")
    place = f"{API}/devices/{MAC.hex(':')}/queue"
    assert (await alice.get(place)).json() == []
    assert (await alice.delete(f"{place}/1")).status_code == 409


async def test_a_request_is_named_by_a_number(meshworld: MeshWorld) -> None:
    olga = await meshworld.hub.signed_in("olga", "operator")
    for id_ in ("x", "-1", str(2**70)):
        answer = await olga.delete(f"{API}/mesh/queues/oslo/{id_}")
        assert answer.status_code in (400, 404), answer.text
