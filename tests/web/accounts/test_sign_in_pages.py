"""F14, F15: the seed's routes and the pages, with and without a browser."""

import asyncio

import httpx
import pytest

from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.fleet.rendezvous.wish import Wish
from tests.web.world import HASHNAME, MAC, PASSWORD, StagedHub, World, code_of

TEXT = MAC.hex(":")
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "sec-fetch-site": "same-origin"}
SCRIPT = "<script>alert(1)</script>"


async def test_a_browser_registers_signs_in_and_sees_its_devices(hubworld: World) -> None:
    """F14, F15: without any script."""
    async with hubworld.anonymous(**BROWSER) as client:
        assert "/auth" in (await client.get("/")).text
        assert 'name="password"' in (await client.get("/registation")).text
        form = {"login": "alice", "password": PASSWORD}
        registered = await client.post("/registation", data=form)
        assert (registered.status_code, registered.headers["location"]) == (303, "/")
        assert "alice" in (await client.get("/")).text
        await client.post("/signout")
        assert "/auth" in (await client.get("/")).text
        signed_in = await client.post("/auth", data=form)
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
        await hubworld.hub.report()
        claim = {"mac": TEXT, "code": code_of(), "name": "attic"}
        claimed = await client.post("/claim", data=claim)
        assert claimed.headers["location"] == f"/devices/{TEXT}"
        page = (await client.get("/")).text
        assert "attic" in page
        assert "online" in page
        renamed = await client.post(f"/devices/{TEXT}/name", data={"name": "cellar"})
        assert renamed.status_code == 303
        assert "cellar" in (await client.get(f"/devices/{TEXT}")).text
        assert "ROOKERY_CODE=" in (await client.post("/add")).text
        await client.post(f"/devices/{TEXT}/release")
        assert "cellar" not in (await client.get("/")).text


@pytest.mark.parametrize("path", ["/registation", "/registration"])
async def test_programs_use_the_seeds_routes_with_queries(hubworld: World, path: str) -> None:
    """F14: login and password in the query, JSON as the answer."""
    async with hubworld.anonymous() as client:
        query = {"login": "alice", "password": PASSWORD}
        registered = await client.post(path, params=query)
        assert (registered.status_code, registered.json()["login"]) == (201, "alice")
        client.cookies.clear()
        assert (await client.get("/")).json() == {"login": None, "devices": []}
        signed_in = await client.post("/auth", params=query)
        assert signed_in.json() == {"login": "alice", "role": "user", "scopes": None}
        assert (await client.get("/")).json() == {"login": "alice", "devices": []}
        wrong = await client.post("/auth", params={**query, "password": "wrong"})
        assert (wrong.status_code, wrong.json()["code"]) == (401, "wrong_password")


async def test_connecting_without_a_script_waits_and_shows_the_steps(hubworld: World) -> None:
    """F6, F7, F10, F14."""
    alice = await hubworld.owner("alice")
    hub = hubworld.hub
    page = await _posted(alice, hub, BROWSER)
    assert page.status_code == 200
    for text in ("text of wished", "text of called", "ticket1", "ws://127.0.0.1:9/rpc"):
        assert text in page.text
    program = await _posted(alice, hub, {})
    assert program.json()["grant"]["ticket"] == "ticket1"
    assert [step["name"] for step in program.json()["steps"]][-1] == "done"


async def _posted(
    client: httpx.AsyncClient, hub: StagedHub, headers: dict[str, str]
) -> httpx.Response:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(hub.grant_next())
        posted = tasks.create_task(client.post("/", params={"mac": TEXT}, headers=headers))
    return posted.result()


async def test_a_wish_that_fails_says_why(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    hub = hubworld.hub

    async def fail() -> None:
        wish: Wish = await hub.wishes.get()
        await hub.say(wish, "failed")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fail())
        posted = tasks.create_task(alice.post("/", params={"mac": TEXT}))
    assert posted.result().status_code == 504
    assert posted.result().json()["detail"] == "text of failed"


async def test_without_a_session_pages_lead_to_sign_in(hubworld: World) -> None:
    async with hubworld.anonymous(**BROWSER) as client:
        for answer in (await client.get(f"/devices/{TEXT}"), await client.post("/?mac=" + TEXT)):
            assert (answer.status_code, answer.headers["location"]) == (303, "/auth")
    async with hubworld.anonymous() as program:
        assert (await program.post("/?mac=" + TEXT)).status_code == 401


@pytest.mark.parametrize("path", ["/auth", "/registration"])
async def test_what_was_typed_comes_back_escaped(hubworld: World, path: str) -> None:
    async with hubworld.anonymous(**BROWSER) as client:
        body = {"login": f'"><{SCRIPT}', "password": "short"}
        answer = await client.post(path, data=body)
        assert answer.status_code in (400, 401)
        assert SCRIPT not in answer.text
        assert "&lt;script&gt;" in answer.text
        assert 'value="short"' not in answer.text


async def test_a_device_named_like_a_script_is_shown_as_such(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    named = await alice.post(f"/devices/{TEXT}/name", data={"name": SCRIPT})
    assert named.status_code == 303
    for path in ("/", f"/devices/{TEXT}"):
        page = (await alice.get(path, headers=BROWSER)).text
        assert SCRIPT not in page
        assert "&lt;script&gt;alert(1)" in page


async def test_pages_speak_russian_to_those_who_prefer_it(hubworld: World) -> None:
    async with hubworld.anonymous(**BROWSER) as client:
        russian = await client.get("/auth", headers={"accept-language": "ru-RU,ru;q=0.9,en;q=0.5"})
        assert 'lang="ru"' in russian.text
        assert "Войти" in russian.text
        english = await client.get("/auth", headers={"accept-language": "ru;q=0.3,en"})
        assert "Sign in" in english.text


async def test_the_device_page_may_reach_the_servers_sockets_and_nothing_else(
    hubworld: World,
) -> None:
    """A server's address cannot smuggle rules into the policy, nor headers into the answer."""
    alice = await hubworld.owner("alice")
    addresses = [
        "ws://192.0.2.9:8443/rpc",
        "wss://[2001:db8::1]:443/rpc",
        "ws://a:1; script-src *",
        "ws://a:1\r\nset-cookie: x=1",
        "javascript:alert(1)",
        "ws://*:1/rpc",
        "wss://meet.example.org/rpc",
        "",
    ]
    hubworld.hub.loads = [
        ServerLoad(HASHNAME, "", ws, b"", b"", 8, 3, 1, 0, 0, 5) for ws in addresses
    ]
    answer = await alice.get(f"/devices/{TEXT}", headers=BROWSER)
    policy = answer.headers["content-security-policy"]
    assert (
        "connect-src 'self' ws://192.0.2.9:8443 wss://[2001:db8::1]:443 wss://meet.example.org;"
        in policy
    )
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert "set-cookie" not in answer.headers


async def test_pages_hold_no_script_or_style_of_their_own(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    for path in ("/", "/auth", "/registration", f"/devices/{TEXT}", "/nowhere"):
        page = (await alice.get(path, headers=BROWSER)).text
        assert "<style" not in page
        assert " style=" not in page
        assert " on" + "click" not in page
        for piece in page.split("<script")[1:]:
            assert piece.removeprefix(' type="module"').startswith(' src="/static/')
        assert "http://" not in page.replace("http://hub.test", "")
    for name in ("connect.js", "rookery.css"):
        answer = await alice.get(f"/static/{name}")
        assert answer.status_code == 200
        assert "no-cache" in answer.headers["cache-control"]
