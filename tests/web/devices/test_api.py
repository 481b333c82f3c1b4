"""F6, F15: one's own devices, codes, and what operators and administrators see."""

import time

from rookery.fleet.enrolment.secrets import code_id, code_key
from rookery.fleet.rendezvous.placement import ServerLoad
from tests.web.world import HASHNAME, MAC, World, code_of

API = "/api/v1"
TEXT = MAC.hex(":")


async def test_the_page_lists_the_accounts_devices_with_their_state(hubworld: World) -> None:
    """F15."""
    alice = await hubworld.owner("alice")
    account = await hubworld.site.accounts.find("alice")
    assert account is not None
    silent, new = bytes.fromhex("02fc00000002"), bytes.fromhex("02fc00000003")
    await hubworld.hub.report(silent, ago_s=600)
    for mac, name in ((silent, "barn"), (new, "cellar")):
        await hubworld.site.devices.claim(mac, account.id, name, now=1.0)
    listed = (await alice.get(f"{API}/devices")).json()
    states = [(one["name"], one["state"]) for one in listed]
    assert states == [("attic", "online"), ("barn", "silent"), ("cellar", "never")]
    assert abs(listed[1]["last_seen"] - (time.time() - 600)) < 60
    assert listed[2]["last_seen"] is None


async def test_whoever_reads_the_code_off_the_device_claims_it(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    await hubworld.hub.report()
    shown = code_of().lower()
    body = {"mac": "02-FC-00-00-00-01", "code": f"{shown[:5]} {shown[5:]}", "name": " my  attic "}
    claimed = await alice.post(f"{API}/devices/claim", json=body)
    assert (claimed.status_code, claimed.json()["name"]) == (201, "my attic")
    mallory = await hubworld.signed_in("mallory")
    answer = await mallory.post(f"{API}/devices/claim", json=body)
    assert answer.status_code == 403


async def test_a_wrong_code_claims_nothing_and_guessing_it_is_bounded(hubworld: World) -> None:
    mallory = await hubworld.signed_in("mallory")
    await hubworld.hub.report()
    body = {"mac": TEXT, "code": "AAAAAAAAAA"}
    tries = hubworld.site.settings.guesses.per_account_and_address
    for _ in range(tries):
        answer = await mallory.post(f"{API}/devices/claim", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "wrong_code")
    answer = await mallory.post(f"{API}/devices/claim", json={**body, "code": code_of()})
    assert answer.status_code == 429
    assert await hubworld.site.devices.find(MAC) is None


async def test_an_unknown_device_is_404_for_operators(hubworld: World) -> None:
    """F6."""
    olga = await hubworld.signed_in("olga", "operator")
    for answer in (
        await olga.get(f"{API}/devices/{TEXT}"),
        await olga.post(f"{API}/devices/{TEXT}/connect"),
        await olga.post("/", params={"mac": TEXT}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown")


async def test_what_is_not_there_is_answered_like_what_is_anothers(hubworld: World) -> None:
    """Low: 404 and 403 told strangers which MACs the hub knows."""
    await hubworld.owner("alice")
    await hubworld.hub.report(bytes.fromhex("02fc00000002"))
    mallory = await hubworld.signed_in("mallory")
    outcomes = set()
    for last in ("01", "02", "03"):  # another's, nobody's, unknown
        mac = f"02:fc:00:00:00:{last}"
        claim = {"mac": mac, "code": "AAAAAAAAAA"}
        answers = [
            await mallory.get(f"{API}/devices/{mac}"),
            await mallory.post(f"{API}/devices/{mac}/connect"),
            await mallory.post("/", params={"mac": mac}),
            await mallory.post(f"{API}/devices/claim", json=claim),
        ]
        outcomes.add(tuple((one.status_code, one.text.replace(mac, "MAC")) for one in answers))
    assert len(outcomes) == 1


async def test_a_silent_device_is_a_conflict_with_its_last_report(hubworld: World) -> None:
    """F6."""
    alice = await hubworld.owner("alice")
    entry = await hubworld.hub.entry(MAC)
    assert entry is not None
    entry.last_seen = 1_700_000_000.0
    for answer in (
        await alice.post(f"{API}/devices/{TEXT}/connect"),
        await alice.post("/", params={"mac": TEXT}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "silent")
        assert answer.json()["last_seen"] == 1_700_000_000.0
    page = await alice.post("/", params={"mac": TEXT}, headers={"accept": "text/html"})
    assert page.status_code == 409
    assert "2023-11-14" in page.text


async def test_a_released_device_is_nobodys(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    assert (await alice.delete(f"{API}/devices/{TEXT}")).status_code == 204
    answer = await alice.get(f"{API}/devices/{TEXT}")
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign")


async def test_a_code_is_shown_once_with_a_command_and_kept_as_a_hash(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    made = (await alice.post(f"{API}/codes", json={})).json()
    assert made["code"] in made["command"]
    assert "rookery agent --hub" in made["command"]
    (kept,) = await hubworld.site.codes.find([code_id(code_key(made["code"]))])
    assert kept is not None
    assert (kept.kind, kept.key) == ("router", code_key(made["code"]))
    listed = await alice.get(f"{API}/codes")
    assert [one["id"] for one in listed.json()] == [made["id"]]
    assert made["code"] not in listed.text
    mallory = await hubworld.signed_in("mallory")
    assert (await mallory.delete(f"{API}/codes/{made['id']}")).status_code == 404
    assert (await alice.delete(f"{API}/codes/{made['id']}")).status_code == 204
    assert (await alice.get(f"{API}/codes")).json() == []


async def test_open_codes_are_bounded(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    count = hubworld.site.settings.limits.open_codes_per_account
    codes = [(await alice.post(f"{API}/codes", json={})).status_code for _ in range(count + 1)]
    assert codes == [201] * count + [409]


async def test_only_operators_add_servers(hubworld: World) -> None:
    alice, olga = await hubworld.signed_in("alice"), await hubworld.signed_in("olga", "operator")
    assert (await alice.post(f"{API}/codes", json={"kind": "server"})).status_code == 403
    made = (await olga.post(f"{API}/codes", json={"kind": "server"})).json()
    assert "rookery server --hub" in made["command"]


async def test_operators_see_servers_and_page_through_devices(hubworld: World) -> None:
    olga = await hubworld.signed_in("olga", "operator")
    load = ServerLoad(HASHNAME, "127.0.0.1:9", "ws://127.0.0.1:9/rpc", b"", b"", 8, 3, 1, 0, 0, 5)
    hubworld.hub.loads = [load]
    (server,) = (await olga.get(f"{API}/servers")).json()
    assert (server["hashname"], server["seats_used"], server["reserved"]) == (HASHNAME, 3, 1)
    macs = [bytes.fromhex(f"02fc000000{number:02x}") for number in range(7)]
    for mac in macs:
        await hubworld.hub.report(mac)
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = (await olga.get(f"{API}/routers", params={"count": "3", **after})).json()
        seen += [one["mac"] for one in page["routers"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert seen == [mac.hex(":") for mac in macs]


async def test_administrators_give_roles_and_remove_accounts(hubworld: World) -> None:
    root = await hubworld.signed_in("root", "admin")
    alice = await hubworld.owner("alice")
    assert (await alice.get(f"{API}/servers")).status_code == 403
    changed = await root.patch(f"{API}/accounts/ALICE", json={"role": "operator"})
    assert changed.json()["role"] == "operator"
    assert (await alice.get(f"{API}/servers")).status_code == 200
    assert (await root.patch(f"{API}/accounts/alice", json={"role": "god"})).status_code == 400
    for answer in (
        await root.patch(f"{API}/accounts/root", json={"role": "user"}),
        await root.delete(f"{API}/accounts/root"),
    ):
        assert answer.status_code == 409
    logins = [one["login"] for one in (await root.get(f"{API}/accounts")).json()]
    assert logins == ["root", "alice"]
    assert (await root.delete(f"{API}/accounts/alice")).status_code == 204
    assert (await alice.get(f"{API}/me")).status_code == 401
    assert await hubworld.site.devices.find(MAC) is None
    rows = (await root.get(f"{API}/audit", params={"target": "alice", "who": "root"})).json()
    assert [row["what"] for row in rows] == ["account.remove", "account.role"]
    assert rows[1]["detail"] == {"outcome": "ok", "from": "user", "to": "operator"}
