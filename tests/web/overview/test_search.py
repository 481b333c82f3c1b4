"""F15: the search finds what the caller may see, and nothing else."""

from rookery.fleet.rendezvous.placement import ServerLoad
from tests.web.world import HASHNAME, MAC, World

SEARCH = "/api/v1/search"


async def test_an_owner_finds_devices_by_name_and_mac(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    for text in ("attic", "ATT", MAC.hex(":"), MAC.hex(":")[-5:]):
        found = (await alice.get(SEARCH, params={"q": text})).json()
        assert [one["url"] for one in found if one["kind"] == "device"] == [
            f"/devices/{MAC.hex(':')}"
        ]


async def test_anothers_device_is_not_found(hubworld: World) -> None:
    await hubworld.owner("alice")
    mallory = await hubworld.signed_in("mallory")
    assert (await mallory.get(SEARCH, params={"q": "attic"})).json() == []
    assert (await mallory.get(SEARCH, params={"q": "02:fc"})).json() == []
    pages = (await mallory.get(SEARCH, params={"q": "a"})).json()
    assert {one["url"] for one in pages} <= {"/", "/account"}


async def test_an_operator_finds_devices_servers_and_pages(hubworld: World) -> None:
    await hubworld.owner("alice")
    load = ServerLoad(HASHNAME, "192.0.2.9:8443", "", b"", b"", 8, 3, 1, 0, 0, 5)
    hubworld.hub.loads = [load]
    oscar = await hubworld.signed_in("oscar", "operator")
    kinds = {
        text: [one["kind"] for one in (await oscar.get(SEARCH, params={"q": text})).json()]
        for text in ("attic", "192.0.2.9", "matrix", "audit")
    }
    assert kinds["attic"] == ["router"]
    assert kinds["192.0.2.9"] == ["server"]
    assert kinds["matrix"] == ["page"]
    assert kinds["audit"] == []  # which is for administrators


async def test_pages_are_found_in_the_readers_language(hubworld: World) -> None:
    oscar = await hubworld.signed_in("oscar", "operator")
    found = await oscar.get(SEARCH, params={"q": "карт"}, headers={"accept-language": "ru"})
    assert [one["title"] for one in found.json()] == ["Карта"]


async def test_what_is_found_is_bounded(hubworld: World) -> None:
    oscar = await hubworld.signed_in("oscar", "operator")
    for number in range(200):
        await hubworld.hub.report(bytes([2, 0, 0, 0, 0, number]))
    assert 1 <= len((await oscar.get(SEARCH, params={"q": "02:00"})).json()) <= 20
    assert (await oscar.get(SEARCH, params={"q": "x" * 65})).status_code == 400
    assert (await oscar.get(SEARCH, params={"q": "  "})).json() == []
