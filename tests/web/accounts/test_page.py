"""F15: the account's page works by plain forms, and language and theme follow the account."""

import re

import httpx
import pytest

from tests.web.accounts.test_sign_in_pages import BROWSER
from tests.web.world import PASSWORD, World

NEW = "another battery staple"


async def second_session(world: World, login: str) -> httpx.AsyncClient:
    client = world.anonymous(
        "192.0.2.77", **{"user-agent": "Mozilla/5.0 (X11; Linux) Firefox/140.0"}
    )
    body = {"login": login, "password": PASSWORD}
    assert (await client.post("/api/v1/session", json=body)).status_code == 201
    return client


async def test_the_password_changes_and_other_sessions_end(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    other = await second_session(hubworld, "alice")
    wrong = {"old": "not the password", "new": NEW}
    refused = await alice.post("/account/password", data=wrong, headers=BROWSER)
    assert refused.status_code == 401
    assert "not the present password" in refused.text
    assert (await other.get("/api/v1/me")).status_code == 200
    short = await alice.post(
        "/account/password", data={"old": PASSWORD, "new": "short"}, headers=BROWSER
    )
    assert (short.status_code, "at least 10" in short.text) == (400, True)
    form = {"old": PASSWORD, "new": NEW}
    changed = await alice.post("/account/password", data=form, headers=BROWSER)
    assert (changed.status_code, changed.headers["location"]) == (303, "/account?done=password")
    assert "every other session has ended" in (await alice.get("/account?done=password")).text
    assert (await other.get("/api/v1/me")).status_code == 401
    assert (await alice.get("/api/v1/me")).status_code == 200


async def test_sessions_are_listed_and_ended_one_or_all(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    others = [await second_session(hubworld, "alice") for _ in range(3)]
    page = (await alice.get("/account")).text
    assert page.count("Firefox 140, Linux") == 3
    ids = re.findall(r"/account/sessions/([0-9a-f]{16})/end", page)
    assert len(ids) == 3
    await alice.post(f"/account/sessions/{ids[0]}/end")
    states = [(await one.get("/api/v1/me")).status_code for one in others]
    assert sorted(states) == [200, 200, 401]
    await alice.post("/account/sessions/end")
    assert [(await one.get("/api/v1/me")).status_code for one in others] == [401] * 3
    assert (await alice.get("/api/v1/me")).status_code == 200
    mallory = await hubworld.signed_in("mallory")
    assert (await mallory.post(f"/account/sessions/{ids[1]}/end")).status_code == 404


async def test_all_others_end_by_the_api_as_well(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    other = await second_session(hubworld, "alice")
    assert (await alice.delete("/api/v1/sessions")).status_code == 204
    assert (await other.get("/api/v1/me")).status_code == 401
    assert len((await alice.get("/api/v1/sessions")).json()) == 1


async def test_a_token_is_shown_once_and_revoked(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    form = {"name": "<b>eye</b>", "scope_read": "1", "days": "30"}
    made = await alice.post("/account/tokens", data=form, headers=BROWSER)
    found = re.search(r'<code id="token">(rk_[\w-]{43})</code>', made.text)
    assert found is not None
    assert "&lt;b&gt;eye&lt;/b&gt;" in made.text
    bearer = {"authorization": f"Bearer {found[1]}"}
    async with hubworld.anonymous(**bearer) as program:
        assert (await program.get("/api/v1/me")).json()["scopes"] == ["read"]
        again = (await alice.get("/account", headers=BROWSER)).text
        assert found[1] not in again
        number = re.search(r"/account/tokens/(\d+)/revoke", again)
        assert number is not None
        mallory = await hubworld.signed_in("mallory")
        revoking = f"/account/tokens/{number[1]}/revoke"
        assert (await mallory.post(revoking)).status_code == 404
        assert (await alice.post(revoking)).status_code == 303
        assert (await program.get("/api/v1/me")).status_code == 401


@pytest.mark.parametrize(
    "form", [{"name": "x"}, {"scope_read": "1"}, {"name": "x", "scope_read": "1", "days": "1e9"}]
)
async def test_a_token_that_cannot_be_is_refused(hubworld: World, form: dict[str, str]) -> None:
    alice = await hubworld.signed_in("alice")
    refused = await alice.post("/account/tokens", data=form, headers=BROWSER)
    assert refused.status_code == 400
    assert 'role="alert"' in refused.text
    assert (await alice.get("/api/v1/tokens")).json() == []


async def test_a_stranger_chooses_for_this_browser(hubworld: World) -> None:
    async with hubworld.anonymous(**BROWSER) as client:
        assert "data-theme" not in (await client.get("/auth")).text
        form = {"theme": "dark", "back": "/auth?x=1"}
        chosen = await client.post("/preferences", data=form)
        assert (chosen.status_code, chosen.headers["location"]) == (303, "/auth?x=1")
        await client.post("/preferences", data={"language": "ru"})
        page = (await client.get("/auth", headers={"accept-language": "en"})).text
        assert '<html lang="ru" data-theme="dark"' in page
        await client.post("/preferences", data={"theme": "system"})
        assert "data-theme" not in (await client.get("/auth")).text


async def test_what_is_chosen_follows_the_account(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    await alice.post("/preferences", data={"language": "ru"})
    await alice.post("/preferences", data={"theme": "light"})
    kept = (await alice.get("/api/v1/me/preferences")).json()
    assert kept == {"language": "ru", "theme": "light"}
    other = await second_session(hubworld, "alice")
    page = (await other.get("/account", headers={**BROWSER, "accept-language": "en"})).text
    assert '<html lang="ru" data-theme="light"' in page
    change = {"language": None, "theme": "dark"}
    assert (await other.put("/api/v1/me/preferences", json=change)).json() == change
    page = (await other.get("/account", headers={**BROWSER, "accept-language": "en"})).text
    assert '<html lang="en" data-theme="dark"' in page
    for wrong in ({"language": "de"}, {"theme": "pink"}, {"colour": "red"}):
        assert (await other.put("/api/v1/me/preferences", json=wrong)).status_code == 400


@pytest.mark.parametrize(
    "back",
    ["//evil.test/", "https://evil.test/", "/\\evil.test", "javascript:alert(1)", "/\r\nx: y", ""],
)
async def test_a_choice_leads_to_no_other_site(hubworld: World, back: str) -> None:
    async with hubworld.anonymous(**BROWSER) as client:
        chosen = await client.post("/preferences", data={"theme": "dark", "back": back})
        assert (chosen.status_code, chosen.headers["location"]) == (303, "/")


async def test_another_site_cannot_choose(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    foreign = {"sec-fetch-site": "cross-site"}
    for path in ("/preferences", "/account/password", "/account/tokens", "/account/sessions/end"):
        assert (await alice.post(path, headers=foreign)).status_code == 403


async def test_the_page_is_for_those_who_are_signed_in(hubworld: World) -> None:
    async with hubworld.anonymous(**BROWSER) as client:
        answer = await client.get("/account")
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth")


async def test_navigation_shows_what_the_role_may_open(hubworld: World) -> None:
    pages = {
        role: (await (await hubworld.signed_in(role, role)).get("/account")).text
        for role in ("user", "operator", "admin")
    }
    assert "/fleet" not in pages["user"]
    assert 'href="/fleet/map"' in pages["operator"]
    assert 'href="/fleet/audit"' not in pages["operator"]
    assert 'href="/fleet/audit"' in pages["admin"]
    assert 'href="/account" aria-current="page"' in pages["user"]
