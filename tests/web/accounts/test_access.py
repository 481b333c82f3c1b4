"""F14, F15: every route says who may call it, and means it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from litestar import Litestar, get
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from rookery.web.accounts.access import Access
from rookery.web.accounts.caller import RANKS, Role, Scope
from tests.patience import PATIENCE_S
from tests.web.world import MAC, PASSWORD, World, world

API = "/api/v1"
PUBLIC = {
    ("GET", "/"),
    ("GET", "/auth"),
    ("POST", "/auth"),
    ("GET", "/registation"),
    ("POST", "/registation"),
    ("GET", "/registration"),
    ("POST", "/registration"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/authority.pem"),
    ("GET", "/static/{file_path:path}"),
    ("HEAD", "/static/{file_path:path}"),
    ("POST", "/preferences"),
    ("GET", f"{API}/openapi.json"),
    ("POST", f"{API}/accounts"),
    ("POST", f"{API}/session"),
    ("POST", f"{API}/session/passkey/options"),
    ("POST", f"{API}/session/passkey"),
}
CLOSED = f"{API}/schema"  # Litestar's own pages about the API
ADMIN_ONLY = {
    ("GET", f"{API}/accounts"),
    ("PATCH", f"{API}/accounts/{{login:str}}"),
    ("DELETE", f"{API}/accounts/{{login:str}}"),
    ("GET", f"{API}/audit"),
    ("GET", "/fleet/accounts"),
    ("POST", "/fleet/accounts"),
    ("GET", "/fleet/accounts/{login:str}"),
    ("POST", "/fleet/accounts/{login:str}/role"),
    ("POST", "/fleet/accounts/{login:str}/password"),
    ("POST", "/fleet/accounts/{login:str}/remove"),
    ("GET", "/fleet/audit"),
    ("DELETE", f"{API}/servers/{{hashname:str}}"),
    ("POST", "/fleet/servers/{hashname:str}/forget"),
}
ENDINGS = {("POST", "/signout"), ("DELETE", f"{API}/session")}
OWN_TOKEN = ("DELETE", f"{API}/token")  # after which it reaches nothing
# Whatever is below these is for operators.
OPERATORS = (
    "/fleet",
    *(f"{API}/{name}" for name in ("servers", "routers", "overview", "mesh", "history")),
    *(f"{API}/{name}" for name in ("insights", "alerts", "topics", "system", "queues")),
)
EXAMPLES = {"{mac:str}": "02:fc:00:00:00:09", "{login:str}": "zoe", "{token:int}": "999999"}


class Route(NamedTuple):
    method: str
    path: str
    access: Access | None

    @property
    def url(self) -> str:
        parts = [EXAMPLES.get(part, "0" * 16) if "{" in part else part for part in self._parts]
        return "/".join(parts)

    @property
    def _parts(self) -> list[str]:
        return self.path.split("/")


def routes(app: Litestar) -> Iterator[Route]:
    for route in app.routes:
        assert isinstance(route, HTTPRoute), f"{route.path} is no HTTP"
        for handler in route.route_handlers:
            assert isinstance(handler, HTTPRouteHandler)
            for method in sorted(handler.http_methods - {"OPTIONS"}):
                access = handler.opt.get("access")
                if route.path.startswith(CLOSED):
                    assert access is None
                    continue
                yield Route(method, route.path, access if isinstance(access, Access) else None)


async def test_every_route_is_public_by_the_list_or_says_whom_it_is_for(hubworld: World) -> None:
    public = set()
    for route in routes(hubworld.app):
        assert route.access is not None, f"{route.method} {route.path} is open to nobody"
        if route.access.role is None:
            public.add((route.method, route.path))
    assert public == PUBLIC


async def test_anonymous_callers_are_denied_everywhere_else(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        for route in routes(hubworld.app):
            if (route.method, route.path) not in PUBLIC:
                answer = await client.request(route.method, route.url)
                assert answer.status_code == 401, f"{route.method} {route.path}"


@pytest.mark.parametrize("role", ["user", "operator", "admin"])
async def test_roles_reach_what_is_theirs_and_nothing_more(hubworld: World, role: Role) -> None:
    client = await hubworld.signed_in("zoe2", role)
    for route in routes(hubworld.app):
        key = (route.method, route.path)
        if key in PUBLIC | ENDINGS:
            continue
        is_operators = route.path.startswith(OPERATORS)
        needed = "admin" if key in ADMIN_ONLY else "operator" if is_operators else "user"
        answer = await client.request(route.method, route.url)
        is_denied = answer.status_code == 403 and answer.json()["code"] == "role"
        assert is_denied == (RANKS[role] < RANKS[needed]), f"{key}: {answer.status_code}"
        assert answer.status_code < 500


@pytest.mark.parametrize("scope", ["read", "connect", "write"])
async def test_tokens_reach_what_their_scope_says(hubworld: World, scope: Scope) -> None:
    admin = await hubworld.signed_in("root", "admin")
    made = await admin.post(f"{API}/tokens", json={"name": "one", "scopes": [scope]})
    token = made.json()["token"]
    async with hubworld.anonymous(authorization=f"Bearer {token}") as client:
        for route in routes(hubworld.app):
            if (route.method, route.path) in PUBLIC | {OWN_TOKEN}:
                continue
            assert route.access is not None
            answer = await client.request(route.method, route.url)
            is_denied = answer.status_code == 403 and answer.json()["code"] == "scope"
            assert is_denied == (route.access.scope != scope), f"{route}: {answer.text}"


async def test_a_route_that_says_nothing_is_closed_to_administrators_too(
    tmp_path: Path, template: Path
) -> None:
    @get("/forgotten")
    async def forgotten() -> str:
        return "secret"

    async with world(tmp_path, template, has_own_routes=True) as ours:
        ours.app.register(forgotten)
        client = await ours.signed_in("root", "admin")
        answer = await client.get("/forgotten")
    assert answer.status_code == 403
    assert "secret" not in answer.text


async def test_another_users_device_is_denied_on_every_route_about_devices(
    hubworld: World,
) -> None:
    """F15."""
    await hubworld.owner("alice")
    mallory = await hubworld.signed_in("mallory")
    path = f"{API}/devices/{MAC.hex(':')}"
    async with asyncio.timeout(
        PATIENCE_S
    ):  # what is let through waits for a router that never comes
        answers = [
            await mallory.get(path),
            await mallory.patch(path, json={"name": "mine"}),
            await mallory.delete(path),
            await mallory.post(f"{path}/connect"),
            await mallory.post(f"{path}/connect", headers={"accept": "application/json"}),
            await mallory.post("/", params={"mac": MAC.hex(":")}),
            await mallory.get(f"/devices/{MAC.hex(':')}"),
            await mallory.post(f"/devices/{MAC.hex(':')}/name", data={"name": "mine"}),
            await mallory.post(f"/devices/{MAC.hex(':')}/release"),
        ]
    assert [answer.status_code for answer in answers] == [403] * len(answers)
    assert {answer.json()["code"] for answer in answers} == {"foreign"}
    assert (await mallory.get(f"{API}/devices")).json() == []
    device = await hubworld.site.devices.find(MAC)
    assert device is not None
    assert device.name == "attic"


async def test_no_token_administers_accounts(hubworld: World) -> None:
    """Low: an administrator's `write` token made administrators."""
    root = await hubworld.signed_in("root", "admin")
    await hubworld.account("zoe")
    body = {"name": "all", "scopes": ["read", "connect", "write"]}
    token = (await root.post(f"{API}/tokens", json=body)).json()["token"]
    async with hubworld.anonymous(authorization=f"Bearer {token}") as program:
        raised = await program.patch(f"{API}/accounts/zoe", json={"role": "admin"})
        removed = await program.delete(f"{API}/accounts/zoe")
        proved = await program.post(f"{API}/session/proof", json={"password": PASSWORD})
    for answer in (raised, removed, proved):
        assert (answer.status_code, answer.json()["code"]) == (403, "scope")
    zoe = await hubworld.site.accounts.find("zoe")
    assert zoe is not None
    assert zoe.role == "user"


async def test_servers_are_added_by_no_token_and_after_a_proof(hubworld: World) -> None:
    """A server reads the calls that pass it, so a stolen token could have read those of all."""
    olga, site = await hubworld.signed_in("olga", "operator"), hubworld.site
    wanted = {"name": "all", "scopes": ["read", "connect", "write"]}
    token = (await olga.post(f"{API}/tokens", json=wanted)).json()["token"]
    async with hubworld.anonymous(authorization=f"Bearer {token}") as program:
        refused = await program.post(f"{API}/codes", json={"kind": "server"})
        assert (refused.status_code, refused.json()["code"]) == (403, "scope")
        assert (await program.post(f"{API}/codes", json={})).status_code == 201
    assert (await olga.post(f"{API}/codes", json={"kind": "server"})).status_code == 201
    began = site.wall()
    site.wall = lambda: began + site.settings.proof_s + 1
    stale = await olga.post(f"{API}/codes", json={"kind": "server"})
    assert (stale.status_code, stale.json()["code"]) == (403, "proof")


async def test_accounts_are_administered_after_a_proof(
    hubworld: World,
) -> None:
    root, site = await hubworld.signed_in("root", "admin"), hubworld.site
    await hubworld.account("zoe")
    began, path = site.wall(), f"{API}/accounts/zoe"
    assert (await root.patch(path, json={"role": "operator"})).status_code == 200
    site.wall = lambda: began + site.settings.proof_s + 1
    stale = await root.patch(path, json={"role": "admin"})
    assert (stale.status_code, stale.json()["code"]) == (403, "proof")
    assert (await root.delete(path)).json()["code"] == "proof"
    wrong = await root.post(f"{API}/session/proof", json={"password": "not the password"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "wrong_password")
    assert (await root.patch(path, json={"role": "admin"})).status_code == 403
    proved = await root.post(f"{API}/session/proof", json={"password": PASSWORD})
    assert proved.status_code == 204
    assert (await root.patch(path, json={"role": "admin"})).status_code == 200
    assert [row.what for row in await site.audit.latest(who="root", what="session.proof")]


async def test_operators_see_foreign_devices_but_do_not_enter_them(hubworld: World) -> None:
    await hubworld.owner("alice")
    operator = await hubworld.signed_in("olga", "operator")
    listed = (await operator.get(f"{API}/routers")).json()["routers"]
    assert [(one["mac"], one["owner"]) for one in listed] == [(MAC.hex(":"), "alice")]
    answer = await operator.post(f"{API}/devices/{MAC.hex(':')}/connect")
    assert answer.status_code == 403


async def _bearer(client: httpx.AsyncClient) -> str:
    made = await client.post(f"{API}/tokens", json={"name": "cli", "scopes": ["read"]})
    return str(made.json()["token"])


async def test_a_token_revokes_itself(hubworld: World) -> None:
    """So a program signs out; a browser has no token to revoke."""
    alice = await hubworld.signed_in("alice")
    token = await _bearer(alice)
    assert (await alice.delete(OWN_TOKEN[1])).status_code == 404
    async with hubworld.anonymous(authorization=f"Bearer {token}") as client:
        assert (await client.delete(OWN_TOKEN[1])).status_code == 204
        assert (await client.get(f"{API}/me")).status_code == 401
    assert (await alice.get(f"{API}/tokens")).json() == []


async def test_a_token_ends_with_its_revocation_and_with_its_account(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    token = await _bearer(alice)
    async with hubworld.anonymous(authorization=f"Bearer {token}") as client:
        assert (await client.get(f"{API}/me")).json()["scopes"] == ["read"]
        listed = (await alice.get(f"{API}/tokens")).json()
        assert "token" not in listed[0]
        assert (await alice.delete(f"{API}/tokens/{listed[0]['id']}")).status_code == 204
        assert (await client.get(f"{API}/me")).status_code == 401


async def test_a_token_of_any_scope_can_revoke_itself(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    assert (await alice.delete(f"{API}/token")).status_code == 404
    made = await alice.post(f"{API}/tokens", json={"name": "cli", "scopes": ["connect"]})
    async with hubworld.anonymous(authorization=f"Bearer {made.json()['token']}") as client:
        assert (await client.delete(f"{API}/session")).status_code == 403
        assert (await client.delete(f"{API}/token")).status_code == 204
        assert (await client.delete(f"{API}/token")).status_code == 401
    assert (await alice.get(f"{API}/tokens")).json() == []


async def test_tokens_are_kept_as_hashes_only(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    token = await _bearer(alice)
    file = hubworld.hub.settings.data / "hub.sqlite"
    written = b"".join(each.read_bytes() for each in file.parent.glob("hub.sqlite*"))
    assert b"alice" in written
    assert token.encode() not in written
    assert alice.cookies["rookery_session"].encode() not in written


async def test_a_token_of_another_account_cannot_be_revoked(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    await _bearer(alice)
    number = (await alice.get(f"{API}/tokens")).json()[0]["id"]
    mallory = await hubworld.signed_in("mallory")
    assert (await mallory.delete(f"{API}/tokens/{number}")).status_code == 404
    assert len((await alice.get(f"{API}/tokens")).json()) == 1


async def test_a_bad_token_does_not_fall_back_to_the_cookie(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    answer = await alice.get(f"{API}/me", headers={"authorization": "Bearer rk_wrong"})
    assert answer.status_code == 401
