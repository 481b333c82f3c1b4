"""F15: administrators manage accounts on a page, by the rules that the API has."""

from pathlib import Path

import httpx
import msgspec
import pytest

from rookery.store.accounts.audit import AuditRow
from rookery.web.accounts.accounts_page import ROWS
from rookery.web.accounts.caller import Role
from tests.web.accounts.test_sign_in_pages import BROWSER
from tests.web.factor_world import factor_world
from tests.web.world import PASSWORD, World, world
from tests.web.world import SETTINGS as USUAL

PAGE = "/fleet/accounts"
NEW = "another battery staple"
HOSTILE = "<b onmouseover=alert(1)>zoe</b>"
FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    (PAGE, {"login": "eve", "password": NEW, "role": "admin"}),
    (f"{PAGE}/zoe/role", {"role": "admin"}),
    (f"{PAGE}/zoe/password", {"password": NEW}),
    (f"{PAGE}/zoe/remove", {}),
)


async def administrator(world: World, login: str = "root") -> httpx.AsyncClient:
    client = await world.signed_in(login, "admin")
    client.headers.update(BROWSER)
    return client


async def role_of(world: World, login: str) -> str | None:
    account = await world.site.accounts.find(login)
    return None if account is None else account.role


async def latest(world: World) -> AuditRow:
    (row,) = await world.site.audit.latest(who="root", what="account", limit=1)
    return row


async def nothing_changed(world: World) -> bool:
    is_as_before = (await role_of(world, "zoe"), await role_of(world, "eve")) == ("user", None)
    return is_as_before and await world.site.audit.latest(what="account") == []


async def may_sign_in(world: World, login: str, password: str) -> bool:
    async with world.anonymous("192.0.2.88") as client:
        body = {"login": login, "password": password}
        return (await client.post("/api/v1/session", json=body)).status_code == 201


async def test_all_accounts_are_listed_with_what_is_known_of_them(
    tmp_path: Path, template: Path
) -> None:
    async with factor_world(tmp_path, template) as made:
        root = await administrator(made.world)
        zoe, _, _ = await made.with_app("zoe", "operator")
        for days in (1, 30):
            body = {"name": "cli", "scopes": ["read"], "days": days}
            assert (await zoe.post("/api/v1/tokens", json=body)).status_code == 201
        await made.world.account("idle")
        made.clock.now += 2 * 86_400
        assert (await made.world.signed_in("other")).is_closed is False
        rows = (await root.get(PAGE)).text.split("<tr data-account=")[1:]
    listed = {row.partition('"')[2].partition('"')[0]: row for row in rows}
    assert list(listed) == ["root", "zoe", "idle", "other"]
    assert "operator" in listed["zoe"]
    assert 'data-state="on"' in listed["zoe"]
    assert '<td class="number">1</td>' in listed["zoe"]  # the other one has expired
    assert 'data-state="off"' in listed["root"]
    assert "no open session" in listed["idle"]
    assert "no open session" not in listed["other"]
    assert ">you<" in listed["root"]
    assert ">you<" not in listed["zoe"]


async def test_accounts_come_a_page_at_a_time_and_one_is_found(hubworld: World) -> None:
    root = await administrator(hubworld)
    for number in range(ROWS):
        await hubworld.site.accounts.add(f"user{number:02}", "-", now=0.0)
    first = (await root.get(PAGE)).text
    assert first.count("data-account=") == ROWS
    following = first.partition('rel="next" href="')[2].partition('"')[0]
    second = (await root.get(PAGE + following)).text
    assert second.count("data-account=") == 1
    assert f'data-account="user{ROWS - 1}"' in second
    assert 'rel="next"' not in second
    one = (await root.get(PAGE, params={"login": " USER07"})).text
    assert one.count("data-account=") == 1
    assert 'data-account="user07"' in one
    assert "No account has this login" in (await root.get(PAGE, params={"login": "nobody"})).text
    for after in ("x", "-1", "٣", str(1 << 70)):
        assert (await root.get(PAGE, params={"after": after})).status_code == 200


async def test_an_account_is_added_and_audited(hubworld: World) -> None:
    root = await administrator(hubworld)
    form = {"login": " Eve+1@example.org", "password": NEW, "role": "operator"}
    added = await root.post(PAGE, data=form)
    login = "eve+1@example.org"
    url = f"{PAGE}/eve%2B1%40example.org"
    assert (added.status_code, added.headers["location"]) == (303, f"{url}?done=add")
    assert "The account is added." in (await root.get(added.headers["location"])).text
    assert await role_of(hubworld, login) == "operator"
    assert await may_sign_in(hubworld, login, NEW)
    row = await latest(hubworld)
    assert (row.what, row.target, row.address) == ("account.add", login, "192.0.2.1")
    assert row.detail == {"outcome": "ok", "role": "operator"}


async def test_an_account_is_added_where_registration_is_closed(
    tmp_path: Path, template: Path
) -> None:
    closed = msgspec.structs.replace(USUAL, registration="closed")
    async with world(tmp_path, template, closed) as made:
        root = await administrator(made)
        added = await root.post(PAGE, data={"login": "eve", "password": NEW})
        assert added.status_code == 303
        assert await role_of(made, "eve") == "user"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"login": "zoe"}, 409),
        ({"login": "ZOE"}, 409),
        ({"login": ""}, 400),
        ({"login": HOSTILE}, 400),
        ({"login": "a/b"}, 400),
        ({"password": ""}, 400),
        ({"password": "short"}, 400),
        ({"role": "root"}, 400),
    ],
)
async def test_an_account_that_cannot_be_is_refused(
    hubworld: World, change: dict[str, str], status: int
) -> None:
    root = await administrator(hubworld)
    await hubworld.account("zoe")
    form = {"login": "eve", "password": NEW, "role": "user"} | change
    refused = await root.post(PAGE, data=form)
    assert (refused.status_code, 'role="alert"' in refused.text) == (status, True)
    assert HOSTILE not in refused.text
    assert NEW not in refused.text
    assert await nothing_changed(hubworld)


async def test_a_role_is_changed_and_audited(hubworld: World) -> None:
    root = await administrator(hubworld)
    await hubworld.account("zoe")
    changed = await root.post(f"{PAGE}/zoe/role", data={"role": "operator"})
    assert (changed.status_code, changed.headers["location"]) == (303, f"{PAGE}/zoe?done=role")
    page = (await root.get(changed.headers["location"])).text
    assert "The role is changed." in page
    assert '<option value="operator" selected>' in page
    assert await role_of(hubworld, "zoe") == "operator"
    row = await latest(hubworld)
    assert (row.what, row.target) == ("account.role", "zoe")
    assert row.detail == {"outcome": "ok", "from": "user", "to": "operator"}
    refused = await root.post(f"{PAGE}/zoe/role", data={"role": "root"})
    assert (refused.status_code, 'role="alert"' in refused.text) == (400, True)
    assert await role_of(hubworld, "zoe") == "operator"


async def test_a_password_is_reset_which_ends_sessions_and_tokens(hubworld: World) -> None:
    root, zoe = await administrator(hubworld), await hubworld.signed_in("zoe")
    body = {"name": "cli", "scopes": ["read"]}
    token = (await zoe.post("/api/v1/tokens", json=body)).json()["token"]
    short = await root.post(f"{PAGE}/zoe/password", data={"password": "short"})
    assert (short.status_code, "at least 10" in short.text) == (400, True)
    assert (await zoe.get("/api/v1/me")).status_code == 200
    reset = await root.post(f"{PAGE}/zoe/password", data={"password": NEW})
    assert (reset.status_code, reset.headers["location"]) == (303, f"{PAGE}/zoe?done=password")
    assert "The password is reset" in (await root.get(reset.headers["location"])).text
    assert (await zoe.get("/api/v1/me")).status_code == 401
    async with hubworld.anonymous(authorization=f"Bearer {token}") as program:
        assert (await program.get("/api/v1/me")).status_code == 401
    assert await may_sign_in(hubworld, "zoe", NEW)
    assert not await may_sign_in(hubworld, "zoe", PASSWORD)
    row = await latest(hubworld)
    assert (row.what, row.target, row.detail) == ("account.password", "zoe", {"outcome": "ok"})


async def test_an_account_is_removed_and_audited(hubworld: World) -> None:
    root, zoe = await administrator(hubworld), await hubworld.signed_in("zoe")
    removed = await root.post(f"{PAGE}/zoe/remove")
    assert (removed.status_code, removed.headers["location"]) == (303, f"{PAGE}?done=remove")
    assert "The account is removed." in (await root.get(removed.headers["location"])).text
    assert await role_of(hubworld, "zoe") is None
    assert (await zoe.get("/api/v1/me")).status_code == 401
    row = await latest(hubworld)
    assert (row.what, row.target, row.detail) == ("account.remove", "zoe", {"outcome": "ok"})
    for path, form in FORMS[1:]:
        assert (await root.post(path, data=form)).status_code == 404
    assert (await root.get(f"{PAGE}/zoe")).status_code == 404


async def test_the_last_administrator_remains_one(hubworld: World) -> None:
    """Their own account is out of reach for them, by any spelling of the login."""
    root = await administrator(hubworld)
    second = await administrator(hubworld, "second")
    assert (await root.post(f"{PAGE}/second/role", data={"role": "user"})).status_code == 303
    assert (await second.post(f"{PAGE}/root/role", data={"role": "user"})).status_code == 403
    for login in ("root", "ROOT"):
        for action, form in (
            ("role", {"role": "user"}),
            ("password", {"password": NEW}),
            ("remove", {}),
        ):
            refused = await root.post(f"{PAGE}/{login}/{action}", data=form)
            assert (refused.status_code, "another administrator" in refused.text) == (409, True)
    assert await role_of(hubworld, "root") == "admin"
    assert not await may_sign_in(hubworld, "root", NEW)
    own = (await root.get(f"{PAGE}/root")).text
    assert "Only another administrator" in own
    assert f'action="{PAGE}/' not in own


@pytest.mark.parametrize("role", ["user", "operator"])
async def test_other_roles_are_denied_and_see_no_entry(hubworld: World, role: Role) -> None:
    client = await hubworld.signed_in("mallory", role)
    client.headers.update(BROWSER)
    await hubworld.account("zoe")
    assert PAGE not in (await client.get("/account")).text
    for path in (PAGE, f"{PAGE}/zoe", f"{PAGE}/nobody"):
        answer = await client.get(path, headers={"accept": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (403, "role")
    for path, form in FORMS:
        assert (await client.post(path, data=form)).status_code == 403
    assert await nothing_changed(hubworld)


async def test_administrators_have_an_entry_that_is_current_on_both_pages(
    hubworld: World,
) -> None:
    root = await administrator(hubworld)
    for path in (PAGE, f"{PAGE}/root"):
        assert f'href="{PAGE}" aria-current="page"' in (await root.get(path)).text


async def test_a_stranger_is_sent_to_sign_in(hubworld: World) -> None:
    async with hubworld.anonymous(**BROWSER) as client:
        answer = await client.get(PAGE)
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth")
        for path, form in FORMS:
            assert (await client.post(path, data=form)).headers["location"] == "/auth"


async def test_changes_take_a_recent_proof(hubworld: World) -> None:
    root, site = await administrator(hubworld), hubworld.site
    await hubworld.account("zoe")
    began = site.wall()
    site.wall = lambda: began + site.settings.proof_s + 1
    for path in (PAGE, f"{PAGE}/zoe"):
        page = (await root.get(path)).text
        assert f"/account/proof?back={path}" in page
        assert f'<form method="post" action="{PAGE}' not in page
    for path, form in FORMS:
        refused = await root.post(path, data=form)
        assert refused.status_code == 303
        assert refused.headers["location"].startswith("/account/proof")
    assert await nothing_changed(hubworld)
    proof = {"password": "not the password", "back": f"{PAGE}/zoe"}
    wrong = await root.post("/account/proof", data=proof)
    assert (wrong.status_code, 'role="alert"' in wrong.text) == (401, True)
    assert (await root.post(FORMS[1][0], data=FORMS[1][1])).status_code == 303
    assert await nothing_changed(hubworld)
    proved = await root.post("/account/proof", data=proof | {"password": PASSWORD})
    assert (proved.status_code, proved.headers["location"]) == (303, f"{PAGE}/zoe")
    await root.post(FORMS[1][0], data=FORMS[1][1])
    assert await role_of(hubworld, "zoe") == "admin"


async def test_no_token_manages_accounts(hubworld: World) -> None:
    root = await hubworld.signed_in("root", "admin")
    await hubworld.account("zoe")
    body = {"name": "all", "scopes": ["read", "connect", "write"]}
    token = (await root.post("/api/v1/tokens", json=body)).json()["token"]
    async with hubworld.anonymous(authorization=f"Bearer {token}") as program:
        answers = [await program.get(PAGE), await program.get(f"{PAGE}/zoe")]
        answers += [await program.post(path, data=form) for path, form in FORMS]
    assert [(one.status_code, one.json()["code"]) for one in answers] == [(403, "scope")] * 6
    assert await nothing_changed(hubworld)


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "cross-site"}, {"origin": "https://evil.test"}]
)
async def test_a_form_of_another_site_is_refused(hubworld: World, headers: dict[str, str]) -> None:
    root = await hubworld.signed_in("root", "admin")
    await hubworld.account("zoe")
    for path, form in FORMS:
        refused = await root.post(path, data=form, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "cross_origin")
    assert await nothing_changed(hubworld)


async def test_logins_with_markup_are_escaped(hubworld: World) -> None:
    root = await administrator(hubworld)
    await hubworld.account("<b>zoe")
    listed = (await root.get(PAGE)).text
    shown = (await root.get(f"{PAGE}/%3Cb%3Ezoe")).text
    found = (await root.get(PAGE, params={"login": HOSTILE})).text
    for page in (listed, shown):
        assert "<b>" not in page
        assert "&lt;b&gt;zoe" in page
    assert f'href="{PAGE}/%3Cb%3Ezoe"' in listed
    assert f'action="{PAGE}/%3Cb%3Ezoe/role"' in shown
    assert "&lt;b onmouseover" in found
    assert HOSTILE not in found


async def test_the_page_is_there_in_russian(hubworld: World) -> None:
    root = await administrator(hubworld)
    await hubworld.account("zoe")
    await root.post("/preferences", data={"language": "ru"})
    assert "<h1>Учётные записи</h1>" in (await root.get(PAGE)).text
    assert "Сбросить пароль" in (await root.get(f"{PAGE}/zoe")).text
