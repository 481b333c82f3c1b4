"""Passkeys over the API, with an authenticator in software that also answers wrongly."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import msgspec
import pytest

from rookery.web.accounts.factors.challenges import GOOD_S
from tests.web.authenticator import Algorithm, Json, SoftPasskey, base64url, from_base64url
from tests.web.factor_world import (
    API,
    FACTORS,
    FactorWorld,
    creation_options,
    factor_world,
    request_options,
)
from tests.web.world import PASSWORD, SETTINGS

SIGN_IN = f"{API}/session/passkey"
PROOF = f"{API}/session/proof/passkey"


@pytest.fixture
async def factors(tmp_path: Path, template: Path) -> AsyncIterator[FactorWorld]:
    async with factor_world(tmp_path, template) as made:
        yield made


async def signed_in_by(
    factors: FactorWorld, passkey: SoftPasskey, handle: bytes, address: str = "192.0.2.9"
) -> httpx.Response:
    async with factors.world.anonymous(address) as client:
        options = await request_options(client)
        return await client.post(SIGN_IN, json={"credential": passkey.assertion(options, handle)})


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
async def test_a_passkey_signs_in_by_itself(factors: FactorWorld, algorithm: Algorithm) -> None:
    ann, passkey, handle = await factors.with_passkey("ann", algorithm)
    async with factors.world.anonymous() as client:
        options = await request_options(client)
        assert options["allowCredentials"] == []
        assert options["userVerification"] == "required"
        answer = passkey.assertion(options, handle)
        done = await client.post(SIGN_IN, json={"credential": answer})
        assert done.status_code == 201, done.text
        assert (await client.get(f"{API}/me")).json()["login"] == "ann"
        made = await client.post(f"{API}/tokens", json={"name": "ci"})
        assert made.status_code == 201  # it counts as a proof
    (row, *_) = (await ann.get(FACTORS)).json()["passkeys"]
    assert row["used_at"] == factors.clock()
    assert (await factors.audited("session.sign_in"))[0] == {"outcome": "ok", "by": "passkey"}


async def test_a_password_alone_is_not_enough_with_a_passkey(factors: FactorWorld) -> None:
    ann = await factors.world.signed_in("ann")
    options = await creation_options(ann)
    body = {"name": "key", "credential": SoftPasskey.make().registration(options)}
    made = (await ann.post(f"{FACTORS}/passkeys", json=body)).json()
    assert len(made["recovery_codes"]) == 10
    assert (await factors.sign_in("ann")).status_code == 401
    assert (await factors.sign_in("ann", made["recovery_codes"][0])).status_code == 201


async def test_creation_options_require_what_is_verified(factors: FactorWorld) -> None:
    ann, passkey, handle = await factors.with_passkey("ann")
    options = await creation_options(ann)
    assert options["rp"] == {"id": "hub.test", "name": "rookery hub"}
    assert options["attestation"] == "none"
    assert options["authenticatorSelection"] == {
        "residentKey": "required",
        "requireResidentKey": True,
        "userVerification": "required",
    }
    assert options["pubKeyCredParams"] == [
        {"alg": number, "type": "public-key"} for number in (-8, -7, -257)
    ]
    known = {"id": base64url(passkey.credential), "type": "public-key"}
    assert options["excludeCredentials"] == [known]
    assert b"ann" not in handle
    assert len(handle) == 32


Forge = Callable[[SoftPasskey], SoftPasskey]
FORGERIES: dict[str, Forge] = {
    "another origin": lambda key: key.forged(origin="http://evil.test"),
    "https for http": lambda key: key.forged(origin="https://hub.test"),
    "another port": lambda key: key.forged(origin="http://hub.test:8080"),
    "another relying party": lambda key: key.forged(rp_id="evil.test"),
    "within a frame of another site": lambda key: key.forged(cross_origin=True),
    "without a user": lambda key: key.forged(flags=0x04),
    "without verifying the user": lambda key: key.forged(flags=0x01),
}


@pytest.mark.parametrize("kind", FORGERIES)
async def test_forged_answers_are_refused(factors: FactorWorld, kind: str) -> None:
    ann, passkey, handle = await factors.with_passkey("ann")
    forged = FORGERIES[kind](passkey)
    refused = await signed_in_by(factors, forged, handle)
    assert (refused.status_code, refused.json()["code"]) == (401, "wrong_passkey")
    assert (await factors.audited("session.sign_in"))[0]["outcome"] == "wrong passkey"
    proof = await ann.post(
        PROOF,
        json={"credential": forged.assertion(await request_options(ann, "/session/proof/passkey"))},
    )
    assert proof.status_code == 401
    other = FORGERIES[kind](SoftPasskey.make())
    body = {"name": "two", "credential": other.registration(await creation_options(ann))}
    assert (await ann.post(f"{FACTORS}/passkeys", json=body)).status_code == 403
    assert (await signed_in_by(factors, passkey, handle)).status_code == 201


@pytest.mark.parametrize("part", ["clientDataJSON", "authenticatorData", "signature"])
async def test_one_changed_bit_is_refused(factors: FactorWorld, part: str) -> None:
    _, passkey, handle = await factors.with_passkey("ann")
    async with factors.world.anonymous() as client:
        options = await request_options(client)
        answer = passkey.assertion(options, handle)
        response = answer["response"]
        assert isinstance(response, dict)
        data = bytearray(from_base64url(response[part]))
        if part == "clientDataJSON":
            data = bytearray(bytes(data).replace(b'"crossOrigin"', b'"crossorigin"'))
        else:
            data[-1] ^= 1
        changed = {**answer, "response": {**response, part: base64url(bytes(data))}}
        assert (await client.post(SIGN_IN, json={"credential": changed})).status_code == 401
        assert (await client.post(SIGN_IN, json={"credential": answer})).status_code == 201


async def test_an_answer_is_taken_once(factors: FactorWorld) -> None:
    _, passkey, handle = await factors.with_passkey("ann")
    async with factors.world.anonymous() as client:
        options = await request_options(client)
        cookie = client.cookies["rookery_sign_in"]
        answer = {"credential": passkey.assertion(options, handle)}
        assert (await client.post(SIGN_IN, json=answer)).status_code == 201
    headers = {"cookie": f"rookery_sign_in={cookie}"}
    async with factors.world.anonymous(**headers) as thief:
        assert (await thief.post(SIGN_IN, json=answer)).status_code == 401
        # Nor is the challenge, by another signature with a counter that grew.
        later = {"credential": passkey.forged(counter=7).assertion(options, handle)}
        assert (await thief.post(SIGN_IN, json=later)).status_code == 401
    why = (await factors.audited("session.sign_in"))[0]["why"]
    assert why == "this challenge was answered before"


async def test_an_answer_is_taken_from_the_browser_that_asked(factors: FactorWorld) -> None:
    _, passkey, handle = await factors.with_passkey("ann")
    async with factors.world.anonymous() as client, factors.world.anonymous() as thief:
        answer = {"credential": passkey.assertion(await request_options(client), handle)}
        assert (await thief.post(SIGN_IN, json=answer)).status_code == 401
        await request_options(thief)
        assert (await thief.post(SIGN_IN, json=answer)).status_code == 401
        assert (await client.post(SIGN_IN, json=answer)).status_code == 201


async def test_a_challenge_is_good_for_its_purpose_and_time(factors: FactorWorld) -> None:
    ann, passkey, handle = await factors.with_passkey("ann")
    proof = await request_options(ann, "/session/proof/passkey")
    creation = await creation_options(ann)
    body = {"name": "two", "credential": SoftPasskey.make().registration(proof)}
    assert (await ann.post(f"{FACTORS}/passkeys", json=body)).status_code == 403
    exchanged = {"credential": passkey.assertion(creation, handle)}
    assert (await ann.post(PROOF, json=exchanged)).status_code == 401
    async with factors.world.anonymous() as client:
        own = await request_options(client)
        made_up: list[Json] = [{"challenge": base64url(bytes(40))}, {"challenge": ""}]
        for options in (proof, creation, *made_up):
            answer = {"credential": passkey.assertion(options, handle)}
            assert (await client.post(SIGN_IN, json=answer)).status_code == 401
        factors.clock.now += GOOD_S + 1
        late = {"credential": passkey.assertion(own, handle)}
        assert (await client.post(SIGN_IN, json=late)).status_code == 401


async def test_a_registration_is_taken_once_and_in_its_session(factors: FactorWorld) -> None:
    ann = await factors.world.signed_in("ann")
    bob = await factors.world.signed_in("bob")
    options = await creation_options(ann)
    first = {"name": "one", "credential": SoftPasskey.make().registration(options)}
    assert (await bob.post(f"{FACTORS}/passkeys", json=first)).status_code == 403
    assert (await ann.post(f"{FACTORS}/passkeys", json=first)).status_code == 201
    second = {"name": "two", "credential": SoftPasskey.make().registration(options)}
    assert (await ann.post(f"{FACTORS}/passkeys", json=second)).status_code == 403


async def test_a_credential_belongs_to_one_account(factors: FactorWorld) -> None:
    _, passkey, handle = await factors.with_passkey("ann")
    bob = await factors.world.signed_in("bob")
    body = {"name": "mine", "credential": passkey.registration(await creation_options(bob))}
    assert (await bob.post(f"{FACTORS}/passkeys", json=body)).status_code == 400
    async with factors.world.anonymous() as client:
        answer = passkey.assertion(await request_options(client), handle)
        named = {**answer, "id": base64url(bytes(32))}
        assert (await client.post(SIGN_IN, json={"credential": named})).status_code == 401


async def test_a_proof_is_by_a_passkey_of_the_same_account(factors: FactorWorld) -> None:
    ann, passkey, _ = await factors.with_passkey("ann")
    _, other, other_handle = await factors.with_passkey("mallory")
    factors.clock.now += 901
    assert (await ann.post(f"{FACTORS}/recovery-codes")).status_code == 403
    options = await request_options(ann, "/session/proof/passkey")
    known = options["allowCredentials"]
    assert known == [{"id": base64url(passkey.credential), "type": "public-key"}]
    for handle in (b"", other_handle):
        foreign = {"credential": other.assertion(options, handle)}
        assert (await ann.post(PROOF, json=foreign)).status_code == 401
    assert (await ann.post(f"{FACTORS}/recovery-codes")).status_code == 403
    own = {"credential": passkey.assertion(options)}
    assert (await ann.post(PROOF, json=own)).status_code == 204
    assert (await ann.post(f"{FACTORS}/recovery-codes")).status_code == 201


async def test_a_passkey_signs_in_to_its_own_account(factors: FactorWorld) -> None:
    """Another account's handle beside it, or none, changes nothing but that it is refused."""
    _, passkey, _ = await factors.with_passkey("ann")
    _, _, other_handle = await factors.with_passkey("mallory")
    assert (await signed_in_by(factors, passkey, other_handle)).status_code == 401
    assert (await signed_in_by(factors, passkey, b"")).status_code == 401


async def test_a_counter_that_goes_back_is_a_copy(factors: FactorWorld) -> None:
    _, passkey, handle = await factors.with_passkey("ann")
    for counter, status in ((5, 201), (5, 401), (4, 401), (0, 401), (6, 201), ((1 << 32) - 1, 201)):
        answer = await signed_in_by(factors, passkey.forged(counter=counter), handle)
        assert answer.status_code == status, counter
    whys = [one["why"] for one in await factors.audited("session.sign_in") if "why" in one]
    assert all("there may be a copy" in str(why) for why in whys)
    assert len(whys) == 3


async def test_an_authenticator_without_a_counter_works(factors: FactorWorld) -> None:
    _, passkey, handle = await factors.with_passkey("ann")
    for _ in range(2):
        assert (await signed_in_by(factors, passkey.forged(counter=0), handle)).status_code == 201


async def test_a_removed_passkey_does_not_sign_in(factors: FactorWorld) -> None:
    ann, passkey, handle = await factors.with_passkey("ann")
    mallory = await factors.world.signed_in("mallory")
    (row,) = (await ann.get(FACTORS)).json()["passkeys"]
    path = f"{FACTORS}/passkeys/{row['id']}"
    assert (await mallory.delete(path)).status_code == 404
    assert (await ann.delete(path)).status_code == 204
    assert (await signed_in_by(factors, passkey, handle)).status_code == 401
    assert (await factors.sign_in("ann")).status_code == 201


async def test_an_account_holds_a_bounded_number_of_passkeys(factors: FactorWorld) -> None:
    ann = await factors.world.signed_in("ann")
    for _ in range(16):
        await factors.add_passkey(ann)
    body = {"name": "x", "credential": SoftPasskey.make().registration(await creation_options(ann))}
    refused = await ann.post(f"{FACTORS}/passkeys", json=body)
    assert (refused.status_code, "at most 16" in refused.text) == (400, True)


async def test_strangers_who_ask_for_challenges_fill_no_table(factors: FactorWorld) -> None:
    async with factors.world.anonymous() as client:
        challenges = {str((await request_options(client))["challenge"]) for _ in range(50)}
    assert len(challenges) == 50
    hashed, now = bytes(32), factors.clock()
    passkeys = factors.world.site.passkeys
    assert await passkeys.spend_challenge(hashed, now + 1, now)
    assert not await passkeys.spend_challenge(hashed, now + 1, now)
    assert await passkeys.spend_challenge(hashed, now + 9, now + 2)  # forgotten once expired


async def test_wrong_answers_are_counted_by_address(factors: FactorWorld) -> None:
    _, passkey, handle = await factors.with_passkey("ann")
    stranger = SoftPasskey.make()
    for _ in range(32):
        assert (await signed_in_by(factors, stranger, handle)).status_code == 401
    assert (await signed_in_by(factors, passkey, handle)).status_code == 429
    assert (await signed_in_by(factors, passkey, handle, "192.0.2.77")).status_code == 201


async def test_a_hub_without_a_name_has_no_passkeys(factors: FactorWorld) -> None:
    async with factors.world.anonymous(host="192.0.2.1:8420") as client:
        refused = await client.post(f"{SIGN_IN}/options")
    assert (refused.status_code, refused.json()["code"]) == (409, "no_host_name")


async def test_behind_a_proxy_passkeys_belong_to_the_public_name(
    tmp_path: Path, template: Path
) -> None:
    settings = msgspec.structs.replace(SETTINGS, public_url="https://hub.example.org")
    async with factor_world(tmp_path, template, settings) as factors:
        await factors.world.account("ann")
        async with factors.world.anonymous(host="hub.example.org") as ann:
            body = {"login": "ann", "password": PASSWORD}
            url = "https://hub.test"
            assert (await ann.post(f"{url}{API}/session", json=body)).status_code == 201
            begun = await ann.post(f"{url}{FACTORS}/passkeys/options")
            options = msgspec.json.decode(begun.content, type=Json)
            assert options["rp"] == {"id": "hub.example.org", "name": "rookery hub"}
            made = SoftPasskey.make()
            inside = {"name": "a", "credential": made.registration(options)}
            refused = await ann.post(f"{url}{FACTORS}/passkeys", json=inside)
            assert refused.status_code == 403
            ours = made.forged(rp_id="hub.example.org", origin="https://hub.example.org")
            outside = {"name": "a", "credential": ours.registration(options)}
            done = await ann.post(f"{url}{FACTORS}/passkeys", json=outside)
            assert done.status_code == 201, done.text
