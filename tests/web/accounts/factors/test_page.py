"""The pages of second factors, as forms without a script."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.factor_world import App, FactorWorld, factor_world
from tests.web.world import PASSWORD

BROWSER = {"accept": "text/html"}
CODES = re.compile(r"<li><code>([a-z2-7-]{19})</code></li>")


@pytest.fixture
async def factors(tmp_path: Path, template: Path) -> AsyncIterator[FactorWorld]:
    async with factor_world(tmp_path, template) as made:
        yield made


async def test_an_app_is_set_up_and_removed(factors: FactorWorld) -> None:
    ann = await factors.world.signed_in("ann")
    ann.headers.update(BROWSER)
    assert "the password alone signs in" in (await ann.get("/account")).text
    begun = await ann.post("/account/factors/totp")
    found = re.search(r'<code id="secret">([A-Z2-7]{32})</code>', begun.text)
    assert found is not None
    assert '<svg class="qr"' in begun.text or "qr-line" in begun.text
    app = App(found[1], factors.clock)
    wrong = await ann.post("/account/factors/totp/confirm", data={"code": app.wrong_code()})
    assert wrong.status_code == 403
    assert 'role="alert"' in wrong.text
    assert found[1] in wrong.text  # to be tried again
    done = await ann.post("/account/factors/totp/confirm", data={"code": app.code()})
    codes = CODES.findall(done.text)
    assert len(codes) == 10
    again = (await ann.get("/account/factors")).text
    assert found[1] not in again
    assert CODES.findall(again) == []
    assert '<strong id="codes-left">10</strong>' in again
    assert "does not sign in" in (await ann.get("/account")).text
    renewed = CODES.findall((await ann.post("/account/factors/recovery")).text)
    assert len(set(codes) | set(renewed)) == 20
    removed = await ann.post("/account/factors/totp/remove")
    assert (removed.status_code, removed.headers["location"]) == (303, "/account/factors")
    assert "Set up an app" in (await ann.get("/account/factors")).text


async def test_the_sign_in_form_takes_a_code(factors: FactorWorld) -> None:
    _, app, _ = await factors.with_app("ann")
    async with factors.world.anonymous(**BROWSER) as client:
        assert 'autocomplete="one-time-code"' in (await client.get("/auth")).text
        form = {"login": "ann", "password": PASSWORD}
        refused = await client.post("/auth", data=form)
        assert (refused.status_code, 'role="alert"' in refused.text) == (401, True)
        entered = await client.post("/auth", data={**form, "code": app.next_code()})
        assert (entered.status_code, entered.headers["location"]) == (303, "/")


async def test_a_page_that_needs_a_proof_asks_for_it(factors: FactorWorld) -> None:
    ann, app, _ = await factors.with_app("ann")
    ann.headers.update(BROWSER)
    factors.clock.now += 901
    assert "token-form" not in (await ann.get("/account")).text
    assert "Remove the app" not in (await ann.get("/account/factors")).text
    led = await ann.post("/account/tokens", data={"name": "ci", "scope_read": "1"})
    assert (led.status_code, led.headers["location"]) == (303, "/account/proof")
    page = (await ann.get("/account/proof")).text
    assert "Code of the second factor" in page
    wrong = await ann.post("/account/proof", data={"password": PASSWORD})
    assert (wrong.status_code, 'role="alert"' in wrong.text) == (401, True)
    form = {"password": PASSWORD, "code": app.next_code()}
    proved = await ann.post("/account/proof", data=form)
    assert (proved.status_code, proved.headers["location"]) == (303, "/account")
    assert "token-form" in (await ann.get("/account")).text


@pytest.mark.parametrize("back", ["//evil.test/", "https://evil.test/", "/\\evil.test"])
async def test_a_proof_leads_to_no_other_site(factors: FactorWorld, back: str) -> None:
    ann = await factors.world.signed_in("ann")
    shown = (await ann.get("/account/proof", params={"back": back})).text
    assert '<input type="hidden" name="back" value="/">' in shown
    form = {"password": PASSWORD, "back": back}
    proved = await ann.post("/account/proof", data=form, headers=BROWSER)
    assert (proved.status_code, proved.headers["location"]) == (303, "/")


async def test_the_pages_are_there_in_russian(factors: FactorWorld) -> None:
    ann = await factors.world.signed_in("ann")
    russian = {**BROWSER, "accept-language": "ru"}
    assert "Второй фактор" in (await ann.get("/account/factors", headers=russian)).text
    assert "Подтвердите, что это вы" in (await ann.get("/account/proof", headers=russian)).text
