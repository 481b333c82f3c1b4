"""F15 in a browser: an administrator adds an account, proves the session, and removes it again."""

import time

import pytest
from playwright.sync_api import Page, expect

from rookery.web.site import WebSite
from tests.e2e.web.axe import axe_source, grave_violations
from tests.e2e.web.conftest import OpenPage, ServedWorld
from tests.web.world import PASSWORD

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]


def check(page: Page, axe: str) -> None:
    """Nothing grave by axe in either theme, and not wider than a phone."""
    for scheme, width in (("light", 1280), ("dark", 360)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 800})
        assert grave_violations(page, axe) == [], page.url
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page.url
    page.set_viewport_size({"width": 1280, "height": 800})


async def outlive_proof(site: WebSite) -> None:
    """As if the administrator's sessions were proved too long ago."""
    account = await site.accounts.find("root")
    assert account is not None
    for session in await site.sessions.of(account.id, time.time()):
        await site.sessions.prove(session.key_hash, time.time() - site.settings.proof_s - 60)


def test_an_account_is_added_changed_and_removed(served: ServedWorld, open_page: OpenPage) -> None:
    axe = axe_source()
    site = served.world.site
    served.account("root", "admin")
    page = open_page("root", has_policy=False)
    page.goto("/")
    page.get_by_role("link", name="Accounts", exact=True).click()
    expect(page.locator('[data-account="root"]')).to_contain_text("admin")
    check(page, axe)

    page.get_by_label("Login", exact=True).fill("zoe")
    page.get_by_label("Password", exact=True).fill("another battery staple")
    page.get_by_role("combobox", name="Role").select_option("operator")
    page.get_by_role("button", name="Add an account").press("Enter")
    expect(page.get_by_role("status").filter(has_text="added")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("zoe")
    check(page, axe)

    page.get_by_role("combobox", name="Role").select_option("user")
    page.get_by_role("button", name="Change role").click()
    expect(page.get_by_role("status").filter(has_text="role is changed")).to_be_visible()
    page.get_by_label("New password").fill("yet another battery")
    page.get_by_role("button", name="Reset password").click()
    expect(page.get_by_role("status").filter(has_text="password is reset")).to_be_visible()

    served.call(outlive_proof(site))
    page.reload()
    expect(page.get_by_role("button", name="Change role")).to_have_count(0)
    check(page, axe)
    page.get_by_role("link", name="Prove that it is you").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_url("**/fleet/accounts/zoe")

    page.get_by_text("Remove…").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("status").filter(has_text="removed")).to_be_visible()
    expect(page.locator("[data-account]")).to_have_count(1)
    audited = served.call(site.audit.latest(who="root", what="account"))
    assert [(row.what, row.target) for row in reversed(audited)] == [
        ("account.add", "zoe"),
        ("account.role", "zoe"),
        ("account.password", "zoe"),
        ("account.remove", "zoe"),
    ]
