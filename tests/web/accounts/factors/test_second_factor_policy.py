"""`--require-second-factor`: who lacks one may set one up, and nothing else."""

from pathlib import Path

import httpx
import msgspec
import pytest

from rookery.web.accounts.caller import Role
from rookery.web.settings import WebSettings
from tests.web.accounts.test_access import routes
from tests.web.factor_world import API, FACTORS, factor_world
from tests.web.world import PASSWORD, SETTINGS

ADMINS = msgspec.structs.replace(SETTINGS, second_factor="admins")
EVERYBODY = msgspec.structs.replace(SETTINGS, second_factor="all")
BROWSER = {"accept": "text/html"}
OPEN = {
    ("GET", f"{API}/me"),
    ("GET", FACTORS),
    ("POST", f"{FACTORS}/totp"),
    ("POST", f"{FACTORS}/totp/confirm"),
    ("DELETE", f"{FACTORS}/totp"),
    ("POST", f"{FACTORS}/recovery-codes"),
    ("POST", f"{FACTORS}/passkeys/options"),
    ("POST", f"{FACTORS}/passkeys"),
    ("DELETE", f"{FACTORS}/passkeys/{{passkey:int}}"),
    ("POST", f"{API}/session/proof"),
    ("POST", f"{API}/session/proof/passkey/options"),
    ("POST", f"{API}/session/proof/passkey"),
    ("DELETE", f"{API}/session"),
    ("DELETE", f"{API}/token"),
    ("GET", "/account/factors"),
    ("POST", "/account/factors/totp"),
    ("POST", "/account/factors/totp/confirm"),
    ("POST", "/account/factors/totp/remove"),
    ("POST", "/account/factors/recovery"),
    ("POST", "/account/factors/passkeys/{passkey:int}/remove"),
    ("GET", "/account/proof"),
    ("POST", "/account/proof"),
    ("POST", "/signout"),
}


def is_refused(answer: httpx.Response) -> bool:
    return answer.status_code == 403 and answer.json()["code"] == "second_factor"


async def test_an_administrator_without_one_may_only_set_one_up(
    tmp_path: Path, template: Path
) -> None:
    async with factor_world(tmp_path, template, ADMINS) as factors:
        admin = await factors.world.signed_in("root", "admin")
        allowed = set()
        for route in routes(factors.world.app):
            if route.access is None or route.access.role is None:
                continue
            if (route.method, route.path) in {("POST", "/signout"), ("DELETE", f"{API}/session")}:
                allowed.add((route.method, route.path))
                continue
            if not is_refused(await admin.request(route.method, route.url)):
                allowed.add((route.method, route.path))
        assert allowed == OPEN
        assert is_refused(await admin.get("/"))
        assert (await admin.get(FACTORS)).json()["is_required"]
        await factors.add_app(admin)
        assert (await admin.get(f"{API}/accounts")).status_code == 200
        assert not (await admin.get(FACTORS)).json()["is_required"]


@pytest.mark.parametrize(
    ("settings", "role", "is_required"),
    [
        (SETTINGS, "admin", False),
        (ADMINS, "user", False),
        (ADMINS, "operator", False),
        (ADMINS, "admin", True),
        (EVERYBODY, "user", True),
    ],
)
async def test_the_policy_says_whom_it_is_about(
    tmp_path: Path, template: Path, settings: WebSettings, role: Role, is_required: bool
) -> None:
    async with factor_world(tmp_path, template, settings) as factors:
        client = await factors.world.signed_in("ann", role)
        assert is_refused(await client.get(f"{API}/devices")) == is_required


async def test_a_token_does_not_bypass_the_policy(tmp_path: Path, template: Path) -> None:
    """One that was made while its owner was no administrator."""
    async with factor_world(tmp_path, template, ADMINS) as factors:
        ann = await factors.world.signed_in("ann")
        wanted = {"name": "ci", "scopes": ["read"]}
        token = (await ann.post(f"{API}/tokens", json=wanted)).json()["token"]
        account = await factors.world.site.accounts.find("ann")
        assert account is not None
        async with factors.world.anonymous(authorization=f"Bearer {token}") as program:
            assert (await program.get(f"{API}/devices")).status_code == 200
            await factors.world.site.accounts.set_role(account.id, "admin")
            assert is_refused(await program.get(f"{API}/audit"))
            await factors.add_app(ann)
            assert (await program.get(f"{API}/audit")).status_code == 200


async def test_giving_up_the_last_factor_closes_the_rest_again(
    tmp_path: Path, template: Path
) -> None:
    async with factor_world(tmp_path, template, ADMINS) as factors:
        admin, _, _ = await factors.with_app("root", "admin")
        assert (await admin.get(f"{API}/audit")).status_code == 200
        assert (await admin.delete(f"{FACTORS}/totp")).status_code == 204
        assert is_refused(await admin.get(f"{API}/audit"))


async def test_a_browser_is_led_to_setting_one_up(tmp_path: Path, template: Path) -> None:
    async with factor_world(tmp_path, template, ADMINS) as factors:
        admin = await factors.world.signed_in("root", "admin")
        for path in ("/", "/account", "/fleet/audit"):
            led = await admin.get(path, headers=BROWSER)
            assert (led.status_code, led.headers["location"]) == (303, "/account/factors")
        shown = await admin.get("/account/factors", headers=BROWSER)
        assert "This hub asks for a second factor" in shown.text
        factors.clock.now += 901
        late = await admin.post("/account/factors/totp", headers=BROWSER)
        assert late.headers["location"] == "/account/proof?back=/account/factors"
        form = {"password": PASSWORD, "back": "/account/factors"}
        proved = await admin.post("/account/proof", data=form, headers=BROWSER)
        assert (proved.status_code, proved.headers["location"]) == (303, "/account/factors")
        assert (await admin.post("/account/factors/totp", headers=BROWSER)).status_code == 200
