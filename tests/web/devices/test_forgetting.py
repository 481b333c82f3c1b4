"""H3: owners forget their devices, administrators whatever is there; and the audit knows."""

import pytest

from rookery.fleet.entry import FleetEntry, server_id
from rookery.store.accounts.accounts import Role
from rookery.store.fleet.forgotten import ForgottenEntries
from rookery.wire.fleet.mac import mac_text
from tests.web.world import HASHNAME, MAC, World

TEXT = mac_text(MAC)
DEVICE, SERVER = f"/api/v1/devices/{TEXT}/enrolment", f"/api/v1/servers/{HASHNAME}"


async def forgotten(world: World) -> list[str]:
    return [each.hashname for each in await ForgottenEntries(world.hub.database).since(0.0)]


async def serving(world: World) -> None:
    name = server_id(HASHNAME)
    entry = FleetEntry(name, "server", HASHNAME, bytes(64), bytes(32), 7, 1, 1, 1, 1.0, 1.0)
    await world.hub.ram.put([entry])


async def test_an_owner_forgets_a_device(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    account = await hubworld.site.accounts.find("alice")
    assert account is not None
    await hubworld.hub.report()
    await hubworld.site.devices.claim(MAC, account.id, "attic", now=1.0)
    page = await alice.get(f"/devices/{TEXT}/access")
    assert f'action="/devices/{TEXT}/forget"' in page.text
    assert (await alice.delete(DEVICE)).status_code == 204
    assert await forgotten(hubworld) == [HASHNAME]
    assert await hubworld.site.devices.find(MAC) is None
    (row,) = await hubworld.site.audit.latest(what="device.forget")
    assert (row.who, row.target, row.detail["hashname"]) == ("alice", TEXT, HASHNAME)


async def test_the_page_does_the_same(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    account = await hubworld.site.accounts.find("alice")
    assert account is not None
    await hubworld.hub.report()
    await hubworld.site.devices.claim(MAC, account.id, "attic", now=1.0)
    assert (await alice.post(f"/devices/{TEXT}/forget")).status_code == 303
    assert await forgotten(hubworld) == [HASHNAME]


@pytest.mark.parametrize("role", ["user", "operator"])
async def test_others_cannot_forget_a_device(hubworld: World, role: Role) -> None:
    await hubworld.hub.report()
    mallory = await hubworld.signed_in("mallory", role)
    assert (await mallory.delete(DEVICE)).status_code == 403
    assert (await mallory.post(f"/devices/{TEXT}/forget")).status_code == 403
    assert await forgotten(hubworld) == []


async def test_administrators_forget_devices_and_servers(hubworld: World) -> None:
    await hubworld.hub.report()
    await serving(hubworld)
    ada = await hubworld.signed_in("ada", "admin")
    assert (await ada.delete(DEVICE)).status_code == 204
    assert (await ada.delete(SERVER)).status_code == 204
    assert (await ada.post(f"/fleet/servers/{HASHNAME}/forget")).status_code == 303
    assert await forgotten(hubworld) == [HASHNAME] * 3
    rows = await hubworld.site.audit.latest(what="server.forget")
    assert [(row.who, row.target) for row in rows] == [("ada", HASHNAME)] * 2


async def test_no_token_and_no_old_proof_forgets_what_is_anothers(hubworld: World) -> None:
    """A stolen token of an administrator could have put all devices out of the fleet."""
    await hubworld.owner("alice")
    ada, site = await hubworld.signed_in("ada", "admin"), hubworld.site
    wanted = {"name": "all", "scopes": ["read", "connect", "write"]}
    token = (await ada.post("/api/v1/tokens", json=wanted)).json()["token"]
    async with hubworld.anonymous(authorization=f"Bearer {token}") as program:
        assert (await program.delete(DEVICE)).json()["code"] == "scope"
    began = site.wall()
    site.wall = lambda: began + site.settings.proof_s + 1
    assert (await ada.delete(DEVICE)).json()["code"] == "proof"
    assert await forgotten(hubworld) == []
    assert await site.devices.find(MAC) is not None


async def test_what_is_not_there_cannot_be_forgotten(hubworld: World) -> None:
    ada = await hubworld.signed_in("ada", "admin")
    for path in (DEVICE, SERVER, "/api/v1/servers/nonsense"):
        assert (await ada.delete(path)).status_code == 404


async def test_operators_forget_no_server(hubworld: World) -> None:
    await serving(hubworld)
    olga = await hubworld.signed_in("olga", "operator")
    assert (await olga.delete(SERVER)).status_code == 403
    assert "/forget" not in (await olga.get("/fleet/servers")).text
