"""Second factors in Chromium, with its own authenticator: registering, signing in, proving."""

import re
import time
from base64 import b32decode
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
import pytest
from playwright.sync_api import CDPSession, Page, expect

from rookery.web.accounts.factors.totp import code_at, step_of
from rookery.web.accounts.session_cookie import NAME, key_hash
from tests.e2e.web.conftest import OpenPage, ServedWorld
from tests.web.world import PASSWORD, SETTINGS

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedWorld]:
    """Known by a name, as passkeys need one, and with administrators who need a factor."""
    settings = msgspec.structs.replace(SETTINGS, second_factor="admins")
    made = ServedWorld(tmp_path_factory.mktemp("served"), settings)
    made.url = f"http://localhost:{urlsplit(made.url).port}"
    yield made
    made.close()


class Authenticator(NamedTuple):
    """A virtual one of the browser."""

    session: CDPSession
    id: str

    def stop_verifying(self) -> None:
        """From now on it cannot say that its user is who set it up."""
        parameters = {"authenticatorId": self.id, "isUserVerified": False}
        self.session.send("WebAuthn.setUserVerified", parameters)


def authenticator(page: Page) -> Authenticator:
    """One that keeps logins and verifies its user."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return Authenticator(session, str(made["authenticatorId"]))


def with_passkey(page: Page) -> list[str]:
    """Add one on the page for factors; the recovery codes that come with it."""
    page.goto("/account/factors")
    page.get_by_label("Name of the passkey").fill("laptop")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("region", name="Recovery codes")).to_be_visible()
    codes = page.locator("#new-codes code").all_inner_texts()
    page.get_by_role("link", name="It is done. See all factors").click()
    expect(page.get_by_role("cell", name="laptop", exact=True)).to_be_visible()
    return codes


def by_password(page: Page, login: str, code: str = "") -> None:
    page.goto("/auth")
    page.get_by_label("Login").fill(login)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Code of the second factor").fill(code)
    page.get_by_role("button", name="Sign in", exact=True).click()


def signed_out(page: Page) -> None:
    page.locator("summary", has_text="Account menu").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in").first).to_be_visible()


def test_a_passkey_is_added_and_signs_in_without_login_and_password(
    open_page: OpenPage, served: ServedWorld
) -> None:
    served.account("ann")
    page = open_page("ann")
    authenticator(page)
    codes = with_passkey(page)
    assert len(codes) == 10
    page.get_by_label("Name of the passkey").fill("again")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("This device has a passkey of yours already.")).to_be_visible()
    signed_out(page)
    page.goto("/auth")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("heading", name="My devices")).to_be_visible()
    assert page.request.get("/api/v1/me").json()["login"] == "ann"
    signed_out(page)
    by_password(page, "ann", codes[0])
    expect(page.get_by_role("heading", name="My devices")).to_be_visible()


def test_a_passkey_proves_who_changes_something(open_page: OpenPage, served: ServedWorld) -> None:
    served.account("bea")
    page = open_page("bea")
    authenticator(page)
    with_passkey(page)
    (cookie,) = (each for each in page.context.cookies() if each["name"] == NAME)
    long_ago = time.time() - 901
    served.call(served.world.site.sessions.prove(key_hash(cookie["value"]), long_ago))
    page.goto("/account/factors")
    expect(page.get_by_role("button", name="Add a passkey")).to_have_count(0)
    page.get_by_role("link", name="Prove that it is you").click()
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url("**/account/factors")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("cell", name="laptop", exact=True)).to_have_count(0)


def test_an_authenticator_that_does_not_verify_its_user_is_not_enough(
    open_page: OpenPage, served: ServedWorld
) -> None:
    served.account("cleo")
    page = open_page("cleo")
    device = authenticator(page)
    with_passkey(page)
    signed_out(page)
    device.stop_verifying()
    page.goto("/auth")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator("[data-passkey] .problem")).to_have_text(
        "The browser gave no passkey; try again."
    )


def test_an_administrator_sets_up_an_app_before_anything_else(
    open_page: OpenPage, served: ServedWorld
) -> None:
    served.account("root", "admin")
    page = open_page()
    by_password(page, "root")
    expect(page.get_by_text("This hub asks for a second factor")).to_be_visible()
    page.get_by_role("button", name="Set up an app").click()
    expect(page.get_by_role("img", name="QR code of the secret")).to_be_visible()
    secret = b32decode(page.locator("#secret").inner_text())
    page.get_by_label("Code that the app shows").fill(code_at(secret, step_of(time.time())))
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#new-codes code")).to_have_count(10)
    page.goto("/fleet/audit")
    expect(page.get_by_role("heading", name=re.compile("Audit"))).to_be_visible()
    expect(page.get_by_text("factor.add").first).to_be_visible()
