"""Authenticator apps and recovery codes over the API: enrolling, signing in, proving, giving up."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from rookery.store.accounts.audit import AuditRow
from rookery.web.settings import LoginThrottleLimits
from tests.web.factor_world import API, FACTORS, FactorWorld, factor_world
from tests.web.world import PASSWORD, SETTINGS

PATIENT = msgspec.structs.replace(
    SETTINGS,
    guesses=LoginThrottleLimits(
        per_account_and_address=10**6, per_address=10**6, per_account=10**6
    ),
)


@pytest.fixture
async def factors(tmp_path: Path, template: Path) -> AsyncIterator[FactorWorld]:
    async with factor_world(tmp_path, template) as made:
        yield made


async def test_signing_in_takes_a_code_once_an_app_is_set_up(factors: FactorWorld) -> None:
    _, app, codes = await factors.with_app("ann")
    assert len(set(codes)) == 10
    for code in ("", app.wrong_code()):
        refused = await factors.sign_in("ann", code)
        assert (refused.status_code, refused.json()["code"]) == (401, "wrong_password")
    assert (await factors.sign_in("ann", app.next_code())).status_code == 201
    shown = app.next_code()
    spaced = f" {shown[:3]} {shown[3:]} "
    assert (await factors.sign_in("ann", spaced)).status_code == 201


async def test_a_secret_that_has_shown_no_code_counts_for_nothing(factors: FactorWorld) -> None:
    ann = await factors.world.signed_in("ann")
    assert (await ann.post(f"{FACTORS}/totp")).status_code == 201
    refused = await ann.post(f"{FACTORS}/totp/confirm", json={"code": "12345"})
    assert (refused.status_code, refused.json()["code"]) == (403, "wrong_code")
    assert (await factors.sign_in("ann")).status_code == 201
    factors.clock.now += 901
    await ann.post(f"{API}/session/proof", json={"password": PASSWORD})
    late = await ann.post(f"{FACTORS}/totp/confirm", json={"code": "123456"})
    assert (late.status_code, late.json()["code"]) == (409, "no_proposal")


async def test_no_code_is_taken_twice(factors: FactorWorld) -> None:
    _, app, _ = await factors.with_app("ann")
    assert (await factors.sign_in("ann", app.code())).status_code == 401  # it confirmed the app
    code = app.next_code()
    assert (await factors.sign_in("ann", code)).status_code == 201
    assert (await factors.sign_in("ann", code)).status_code == 401
    assert (await factors.sign_in("ann", app.code(-1))).status_code == 401
    assert [one["outcome"] for one in await factors.audited("session.sign_in")][:2] == [
        "wrong code",
        "wrong code",
    ]


async def test_a_code_taken_at_another_hub_is_taken(factors: FactorWorld) -> None:
    """Of two hubs that get one code at the same moment, one lets it in."""
    await factors.with_app("ann")
    account = await factors.world.site.accounts.find("ann")
    assert account is not None
    step = int(factors.clock() // 30) + 1
    assert await factors.world.site.factors.spend_step(account.id, step)
    assert not await factors.world.site.factors.spend_step(account.id, step)


async def test_a_recovery_code_is_good_once(factors: FactorWorld) -> None:
    ann, _, codes = await factors.with_app("ann")
    assert (await factors.sign_in("ann", codes[0])).status_code == 201
    assert (await factors.sign_in("ann", codes[0])).status_code == 401
    assert (await factors.sign_in("ann", codes[1].replace("-", " ").upper())).status_code == 201
    assert (await ann.get(FACTORS)).json()["recovery_codes"] == 8
    assert [one["left"] for one in await factors.audited("factor.recover")] == [8, 9]
    renewed = (await ann.post(f"{FACTORS}/recovery-codes")).json()["recovery_codes"]
    assert len(set(renewed) | set(codes)) == 20
    assert (await factors.sign_in("ann", codes[2])).status_code == 401
    assert (await factors.sign_in("ann", renewed[0])).status_code == 201


async def test_the_database_shows_neither_secrets_nor_codes(
    factors: FactorWorld, tmp_path: Path
) -> None:
    ann = await factors.world.signed_in("ann")
    secret = (await ann.post(f"{FACTORS}/totp")).json()["secret"]
    account = await factors.world.site.accounts.find("ann")
    assert account is not None
    kept = await factors.world.site.factors.totp(account.id)
    assert kept is not None
    keys = await factors.world.site.factor_keys()
    opened = keys.opened(account.id, kept.sealed)
    assert opened is not None
    assert opened not in kept.sealed
    assert keys.opened(account.id + 1, kept.sealed) is None  # moved to another account
    _, _, codes = await factors.with_app("bob")
    files = everything_in(tmp_path)
    assert opened not in files
    assert secret.encode() not in files
    for code in codes:
        assert code.encode() not in files
        assert code.replace("-", "").encode() not in files


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("hub.sqlite*"))


async def test_nothing_tells_whether_the_password_was_right(factors: FactorWorld) -> None:
    """The same answer for no login, a wrong password, no code and a wrong code."""
    _, app, _ = await factors.with_app("ann")
    answers = [
        await factors.sign_in("nobody", address="192.0.2.2"),
        await factors.sign_in("ann", password="not this one", address="192.0.2.3"),
        await factors.sign_in("ann", app.next_code(), "not this one", address="192.0.2.4"),
        await factors.sign_in("ann", address="192.0.2.5"),
        await factors.sign_in("ann", app.wrong_code(), address="192.0.2.6"),
    ]
    assert len({(answer.status_code, answer.text) for answer in answers}) == 1
    # A code beside a wrong password is not used up.
    assert (await factors.sign_in("ann", app.code())).status_code == 201


async def test_guessing_codes_ends_and_is_audited(tmp_path: Path, template: Path) -> None:
    """However many addresses guess; a recovery code still lets its owner in."""
    async with factor_world(tmp_path, template, PATIENT) as factors:
        _, app, codes = await factors.with_app("ann")
        for number in range(8):
            refused = await factors.sign_in("ann", app.wrong_code(), address=f"192.0.2.{number}")
            assert refused.status_code == 401
        locked = await factors.sign_in("ann", app.next_code())
        assert (locked.status_code, locked.text) == (refused.status_code, refused.text)
        assert (await factors.audited("session.lock_out")) == [{"outcome": "ok", "of": "codes"}]
        assert (await factors.audited("session.sign_in"))[0]["outcome"] == "too many wrong codes"
        assert (await factors.sign_in("ann", codes[0])).status_code == 201
        _, other, _ = await factors.with_app("bob")
        assert (await factors.sign_in("bob", other.next_code())).status_code == 201


async def test_a_right_code_forgives_the_wrong_ones_before(tmp_path: Path, template: Path) -> None:
    async with factor_world(tmp_path, template, PATIENT) as factors:
        _, app, _ = await factors.with_app("ann")
        for _ in range(3):
            for _ in range(5):
                assert (await factors.sign_in("ann", app.wrong_code())).status_code == 401
            assert (await factors.sign_in("ann", app.next_code())).status_code == 201
        assert await factors.audited("session.lock_out") == []


async def test_wrong_codes_count_like_wrong_passwords(factors: FactorWorld) -> None:
    _, app, _ = await factors.with_app("ann")
    for _ in range(8):
        assert (await factors.sign_in("ann", "")).status_code == 401
    assert (await factors.sign_in("ann", app.next_code())).status_code == 429


async def test_the_first_factor_ends_the_sessions_opened_without_one(factors: FactorWorld) -> None:
    ann = await factors.world.signed_in("ann")
    async with factors.world.anonymous() as other:
        body = {"login": "ann", "password": PASSWORD}
        assert (await other.post(f"{API}/session", json=body)).status_code == 201
        await factors.add_app(ann)
        assert (await other.get(f"{API}/me")).status_code == 401
        assert (await ann.get(f"{API}/me")).status_code == 200


async def test_a_proof_takes_the_code_as_well(factors: FactorWorld) -> None:
    ann, app, _ = await factors.with_app("ann")
    factors.clock.now += 901
    token = {"name": "ci", "scopes": ["read"]}
    for method, path, body in (
        ("POST", f"{API}/tokens", token),
        ("POST", f"{FACTORS}/recovery-codes", None),
        ("DELETE", f"{FACTORS}/totp", None),
        ("POST", f"{FACTORS}/passkeys/options", None),
        ("PUT", f"{API}/me/password", {"old": PASSWORD, "new": "another password"}),
    ):
        refused = await ann.request(method, path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "proof"), path
    proof = f"{API}/session/proof"
    assert (await ann.post(proof, json={"password": PASSWORD})).status_code == 401
    assert (await ann.post(f"{API}/tokens", json=token)).status_code == 403
    with_code = {"password": PASSWORD, "code": app.next_code()}
    assert (await ann.post(proof, json=with_code)).status_code == 204
    assert (await ann.post(f"{API}/tokens", json=token)).status_code == 201
    factors.clock.now += 901
    assert (await ann.post(f"{API}/tokens", json=token)).status_code == 403


async def test_removing_the_app_removes_the_recovery_codes(factors: FactorWorld) -> None:
    ann, _, codes = await factors.with_app("ann")
    again = await ann.post(f"{FACTORS}/totp")
    assert (again.status_code, again.json()["code"]) == (409, "factor_there")
    assert (await ann.delete(f"{FACTORS}/totp")).status_code == 204
    assert (await ann.get(FACTORS)).json() == {
        "totp": False,
        "passkeys": [],
        "recovery_codes": 0,
        "is_required": False,
    }
    assert (await ann.delete(f"{FACTORS}/totp")).status_code == 404
    assert (await factors.sign_in("ann")).status_code == 201
    assert (await ann.post(f"{FACTORS}/recovery-codes")).status_code == 409
    await factors.add_app(ann)
    assert (await factors.sign_in("ann", codes[0])).status_code == 401  # one of the old ten
    rows: list[AuditRow] = await factors.world.site.audit.latest(what="factor")
    assert [row.what for row in rows] == ["factor.add", "factor.remove", "factor.add"]


async def test_no_token_reaches_factors(factors: FactorWorld) -> None:
    ann, _, _ = await factors.with_app("ann")
    wanted = {"name": "all", "scopes": ["read", "connect", "write"]}
    token = (await ann.post(f"{API}/tokens", json=wanted)).json()["token"]
    async with factors.world.anonymous(authorization=f"Bearer {token}") as program:
        for method, path in (
            ("GET", FACTORS),
            ("POST", f"{FACTORS}/totp"),
            ("DELETE", f"{FACTORS}/totp"),
            ("POST", f"{FACTORS}/recovery-codes"),
            ("POST", f"{FACTORS}/passkeys/options"),
            ("POST", f"{API}/session/proof"),
        ):
            refused = await program.request(method, path)
            assert (refused.status_code, refused.json()["code"]) == (403, "scope"), path
        assert (await program.get(f"{API}/me")).status_code == 200


async def test_secrets_are_in_no_repr(factors: FactorWorld) -> None:
    from rookery.web.accounts.api import SessionProof, SignInRequest
    from rookery.web.accounts.factors.enrolment import TotpProposal
    from rookery.web.accounts.sign_in import SignInSecrets

    for value in (
        SignInSecrets("pass", "123456"),
        SignInRequest("ann", "pass", "123456"),
        SessionProof("pass", "123456"),
        TotpProposal(secret="pass", uri="123456"),
    ):
        assert "123456" not in repr(value)
        assert "pass" not in repr(value).replace("pass" + "word", "")
