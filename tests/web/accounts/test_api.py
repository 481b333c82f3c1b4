"""F14, F15: registering, signing in and out, sessions and passwords."""

from pathlib import Path

import msgspec
import pytest

from rookery.store.accounts.sessions import BrowserSession
from rookery.web.settings import LoginThrottleLimits
from tests.web.world import PASSWORD, SETTINGS, World, world

API = "/api/v1"


async def test_register_sign_in_and_out(hubworld: World) -> None:
    """F15."""
    async with hubworld.anonymous() as client:
        body = {"login": " Alice", "password": PASSWORD}
        registered = await client.post(f"{API}/accounts", json=body)
        assert registered.status_code == 201
        assert registered.json() == {"login": "alice", "role": "user", "scopes": None}
        assert (await client.get(f"{API}/me")).status_code == 401
        signed_in = await client.post(f"{API}/session", json=body)
        assert signed_in.status_code == 201
        assert (await client.get(f"{API}/me")).json()["login"] == "alice"
        assert (await client.delete(f"{API}/session")).status_code == 204
        assert (await client.get(f"{API}/me")).status_code == 401


async def test_signing_out_ends_the_session_and_not_only_the_cookie(hubworld: World) -> None:
    client = await hubworld.signed_in("alice")
    stolen = client.cookies["rookery_session"]
    await client.delete(f"{API}/session")
    async with hubworld.anonymous(cookie=f"rookery_session={stolen}") as thief:
        assert (await thief.get(f"{API}/me")).status_code == 401


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(hubworld: World) -> None:
    await hubworld.account("alice")
    async with hubworld.anonymous() as client:
        body = {"login": "alice", "password": PASSWORD}
        header = (await client.post(f"{API}/session", json=body)).headers["set-cookie"].lower()
        assert "httponly" in header
        assert "samesite=lax" in header
        assert "secure" not in header
        secure = await client.post(f"https://hub.test{API}/session", json=body)
        header = secure.headers["set-cookie"]
        assert header.startswith("__Host-rookery_session=")
        assert "secure" in header.lower()
        assert secure.headers["strict-transport-security"]


async def test_a_session_brought_along_is_not_taken_over(hubworld: World) -> None:
    """Session fixation: the key after signing in is always a new one of ours."""
    await hubworld.account("alice")
    planted = "A" * 43
    async with hubworld.anonymous() as client:
        client.cookies.set("rookery_session", planted, domain="hub.test", path="/")
        body = {"login": "alice", "password": PASSWORD}
        header = (await client.post(f"{API}/session", json=body)).headers["set-cookie"]
        assert planted not in header
    async with hubworld.anonymous(cookie=f"rookery_session={planted}") as attacker:
        assert (await attacker.get(f"{API}/me")).status_code == 401


async def test_signing_in_again_ends_the_session_before(hubworld: World) -> None:
    client = await hubworld.signed_in("alice")
    before = client.cookies["rookery_session"]
    await client.post(f"{API}/session", json={"login": "alice", "password": PASSWORD})
    assert client.cookies["rookery_session"] != before
    async with hubworld.anonymous(cookie=f"rookery_session={before}") as old:
        assert (await old.get(f"{API}/me")).status_code == 401
    assert len((await client.get(f"{API}/sessions")).json()) == 1


async def test_sessions_end_when_idle_and_at_the_latest_when_old(hubworld: World) -> None:
    client, site = await hubworld.signed_in("alice"), hubworld.site
    began, idle_s = site.wall(), site.settings.session_idle_s
    for day in range(1, 31):  # used every day
        site.wall = lambda day=day: began + day * 86_400 - 60  # type: ignore[misc]
        assert (await client.get(f"{API}/me")).status_code == 200, f"day {day}"
    site.wall = lambda: began + site.settings.session_s + 1
    assert (await client.get(f"{API}/me")).status_code == 401
    site.wall = lambda: began
    other = await hubworld.signed_in("bob")
    site.wall = lambda: began + idle_s + 1
    assert (await other.get(f"{API}/me")).status_code == 401


async def test_ones_sessions_are_listed_and_ended_one_by_one(hubworld: World) -> None:
    first = await hubworld.signed_in("alice")
    async with hubworld.anonymous(**{"user-agent": "phone"}) as second:
        await second.post(f"{API}/session", json={"login": "alice", "password": PASSWORD})
        listed = (await first.get(f"{API}/sessions")).json()
        (phone,) = [one for one in listed if one["browser"] == "phone"]
        assert [one["is_this"] for one in listed if one != phone] == [True]
        mallory = await hubworld.signed_in("mallory")
        assert (await mallory.delete(f"{API}/sessions/{phone['id']}")).status_code == 404
        assert (await first.delete(f"{API}/sessions/{phone['id']}")).status_code == 204
        assert (await second.get(f"{API}/me")).status_code == 401
    assert (await first.get(f"{API}/me")).status_code == 200


async def test_a_new_password_ends_all_other_sessions(hubworld: World) -> None:
    first, body = await hubworld.signed_in("alice"), {"login": "alice", "password": PASSWORD}
    async with hubworld.anonymous() as second:
        await second.post(f"{API}/session", json=body)
        change = {"old": PASSWORD, "new": "another password"}
        assert (await first.put(f"{API}/me/password", json=change)).status_code == 204
        assert (await second.get(f"{API}/me")).status_code == 401
        assert (await first.get(f"{API}/me")).status_code == 200
        assert (await second.post(f"{API}/session", json=body)).status_code == 401
    wrong = {"old": PASSWORD, "new": "yet another one"}
    assert (await first.put(f"{API}/me/password", json=wrong)).status_code == 401


async def test_a_sign_in_with_the_old_password_is_too_late_once_there_is_a_new_one(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H2: whoever kept trying with the old one had a session that the change did not end."""
    await hubworld.account("alice")
    async with hubworld.anonymous() as first, hubworld.anonymous() as second:
        body = {"login": "alice", "password": PASSWORD}
        assert (await first.post(f"{API}/session", json=body)).status_code == 201
        add = hubworld.site.sessions.add

        async def changed_meanwhile(session: BrowserSession) -> None:
            monkeypatch.undo()
            change = {"old": PASSWORD, "new": "another password"}
            assert (await first.put(f"{API}/me/password", json=change)).status_code == 204
            await add(session)

        monkeypatch.setattr(hubworld.site.sessions, "add", changed_meanwhile)
        assert (await second.post(f"{API}/session", json=body)).status_code == 401
        assert len((await first.get(f"{API}/sessions")).json()) == 1


@pytest.mark.parametrize("what", ["tokens", "codes"])
async def test_a_session_that_ends_meanwhile_leaves_nothing(
    hubworld: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """H2: a token that was under way when the password changed was good for a year."""
    first, body = await hubworld.signed_in("alice"), {"login": "alice", "password": PASSWORD}
    async with hubworld.anonymous() as second:
        assert (await second.post(f"{API}/session", json=body)).status_code == 201
        store = getattr(hubworld.site, what)
        of = store.of

        async def changed_meanwhile(account: int) -> object:
            monkeypatch.undo()
            change = {"old": PASSWORD, "new": "another password"}
            assert (await first.put(f"{API}/me/password", json=change)).status_code == 204
            return await of(account)

        monkeypatch.setattr(store, "of", changed_meanwhile)
        wanted = {"name": "mine"} if what == "tokens" else {}
        assert (await second.post(f"{API}/{what}", json=wanted)).status_code == 401
    assert (await first.get(f"{API}/{what}")).json() == []


async def test_a_former_operator_adds_no_server(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a code was made after those of its maker had ended, so it was good for a day."""
    olga = await hubworld.signed_in("olga", "operator")
    of = hubworld.site.codes.of

    async def demoted_meanwhile(account: int) -> object:
        await hubworld.site.accounts.set_role(account, "user")
        return await of(account)

    monkeypatch.setattr(hubworld.site.codes, "of", demoted_meanwhile)
    assert (await olga.post(f"{API}/codes", json={"kind": "server"})).status_code == 401
    monkeypatch.undo()
    assert (await olga.get(f"{API}/codes")).json() == []


async def test_an_account_holds_a_bounded_number_of_sessions(hubworld: World) -> None:
    await hubworld.account("alice")
    count = SETTINGS.limits.sessions_per_account
    async with hubworld.anonymous() as client:
        for _ in range(count + 3):
            client.cookies.clear()
            await client.post(f"{API}/session", json={"login": "alice", "password": PASSWORD})
        assert len((await client.get(f"{API}/sessions")).json()) == count


REFUSED = [
    ("a", PASSWORD),
    ("a b", PASSWORD),
    ("<script>", PASSWORD),
    ("алиса", PASSWORD),
    ("x" * 65, PASSWORD),
    ("alice\n", "short"),
    ("alice", "short"),
    ("alice", "aaaaaaaaaaaaaa"),
    ("alice", "x" * 1025),
    ("alice", "яя" * 400),  # few characters, many bytes
]


async def test_bad_logins_and_passwords_are_refused(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        for login, password in REFUSED:
            body = {"login": login, "password": password}
            answer = await client.post(f"{API}/accounts", json=body)
            assert answer.status_code == 400, body
            assert password not in answer.text
    assert await hubworld.site.accounts.count() == 0


async def test_a_login_that_looks_the_same_is_taken(hubworld: World) -> None:
    await hubworld.account("alice")
    async with hubworld.anonymous() as client:
        for login in ("ALICE", "\uff41lice", " alice "):
            body = {"login": login, "password": PASSWORD}
            answer = await client.post(f"{API}/accounts", json=body)
            assert (answer.status_code, answer.json()["code"]) == (409, "taken")


async def test_guessing_is_stopped_for_the_guesser_and_not_for_the_owner(
    tmp_path: Path, template: Path
) -> None:
    few = LoginThrottleLimits(per_account_and_address=3, per_address=5)
    settings = msgspec.structs.replace(SETTINGS, guesses=few)
    async with world(tmp_path, template, settings) as made:
        await made.account("alice")
        wrong, right = {"login": "alice", "password": "wrong"}, PASSWORD
        async with made.anonymous("198.51.100.7") as guesser, made.anonymous() as owner:
            for _ in range(3):
                assert (await guesser.post(f"{API}/session", json=wrong)).status_code == 401
            refused = await guesser.post(f"{API}/session", json={**wrong, "password": right})
            assert refused.status_code == 429
            assert 0 < int(refused.headers["retry-after"]) <= few.window_s + 1
            other = {"login": "bob", "password": "wrong"}
            for _ in range(2):
                assert (await guesser.post(f"{API}/session", json=other)).status_code == 401
            assert (await guesser.post(f"{API}/session", json=other)).status_code == 429
            signed_in = await owner.post(f"{API}/session", json={**wrong, "password": right})
            assert signed_in.status_code == 201


async def test_registrations_of_one_address_are_bounded(tmp_path: Path, template: Path) -> None:
    few = LoginThrottleLimits(registrations_per_address=2)
    settings = msgspec.structs.replace(SETTINGS, guesses=few)
    async with world(tmp_path, template, settings) as made, made.anonymous("2001:db8::1") as client:
        codes = []
        for number in range(3):
            body = {"login": f"user{number}", "password": PASSWORD}
            codes.append((await client.post(f"{API}/accounts", json=body)).status_code)
        assert codes == [201, 201, 429]
        async with made.anonymous("2001:db8::2") as neighbour:  # of the same household
            body = {"login": "user9", "password": PASSWORD}
            assert (await neighbour.post(f"{API}/accounts", json=body)).status_code == 429


async def test_registration_can_be_closed(tmp_path: Path, template: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, registration="closed")
    async with world(tmp_path, template, settings) as made, made.anonymous() as client:
        body = {"login": "alice", "password": PASSWORD}
        assert (await client.post(f"{API}/accounts", json=body)).status_code == 403
        answer = await client.post("/registation", params=body)
        assert answer.status_code == 403


async def test_what_happened_is_in_the_audit_and_no_secret_is(hubworld: World) -> None:
    admin = await hubworld.signed_in("root", "admin")
    async with hubworld.anonymous("198.51.100.7") as client:
        body = {"login": "alice", "password": PASSWORD}
        await client.post(f"{API}/accounts", json=body)
        await client.post(f"{API}/session", json={**body, "password": "not his password"})
        await client.post(f"{API}/session", json=body)
        token = (await client.post(f"{API}/tokens", json={"name": "cli"})).json()["token"]
        code = (await client.post(f"{API}/codes", json={"kind": "router"})).json()["code"]
        await client.put(f"{API}/me/password", json={"old": PASSWORD, "new": "new password!"})
        await client.delete(f"{API}/session")
    answer = await admin.get(f"{API}/audit", params={"who": "alice"})
    rows = [(row["what"], row["detail"]["outcome"], row["address"]) for row in answer.json()]
    assert rows[::-1] == [
        ("account.register", "ok", "198.51.100.7"),
        ("session.sign_in", "wrong password", "198.51.100.7"),
        ("session.sign_in", "ok", "198.51.100.7"),
        ("token.make", "ok", "198.51.100.7"),
        ("code.make", "ok", "198.51.100.7"),
        ("account.password", "ok", "198.51.100.7"),
        ("session.sign_out", "ok", "198.51.100.7"),
    ]
    for secret in (PASSWORD, "not his password", "new password!", token, code):
        assert secret not in answer.text


async def test_failures_of_unknown_logins_fill_no_table(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        for number in range(5):
            body = {"login": f"nobody{number}", "password": "wrong"}
            await client.post(f"{API}/session", json=body)
    assert await hubworld.site.audit.latest() == []
