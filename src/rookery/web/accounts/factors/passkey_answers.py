"""Verifies passkey responses of browsers: a registration, or an authentication.

A response counts once, for the purpose and the session that its challenge was issued for.
"""

from typing import Annotated

import msgspec

from rookery.errors import AuthenticationError, DecodeError, RemoteError
from rookery.store.accounts.passkeys import Passkey
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.factors import challenges
from rookery.web.accounts.factors.base64url import decode
from rookery.web.accounts.factors.challenges import Purpose
from rookery.web.accounts.factors.enrolment import codes_of_first, note_factor
from rookery.web.accounts.factors.webauthn import (
    Ceremony,
    WebAuthnParty,
    asserted,
    check_client_data,
    is_cloned,
    read_client_data,
    registered,
)
from rookery.web.accounts.names import checked_name
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite

_TEXT_MAX = 1 << 14
_ID_MAX = 1364  # 1023 bytes in base64url

Text = Annotated[str, msgspec.Meta(max_length=_TEXT_MAX)]
CredentialId = Annotated[str, msgspec.Meta(min_length=1, max_length=_ID_MAX)]


class PasskeyAttestation(msgspec.Struct, frozen=True):
    """Of `navigator.credentials.create`, all in base64url."""

    client_data: Text = msgspec.field(name="clientDataJSON")
    attestation_object: Text = msgspec.field(name="attestationObject")


class PasskeyAssertion(msgspec.Struct, frozen=True):
    """Of `navigator.credentials.get`, all in base64url."""

    client_data: Text = msgspec.field(name="clientDataJSON")
    authenticator_data: Text = msgspec.field(name="authenticatorData")
    signature: Text
    user_handle: Text | None = msgspec.field(name="userHandle", default=None)


class PasskeyRegistration(msgspec.Struct, frozen=True):
    """A new credential, as `toJSON` writes it; what else that writes does not matter."""

    id: CredentialId
    response: PasskeyAttestation


class PasskeyAuthentication(msgspec.Struct, frozen=True):
    """A response signed by a credential, as `toJSON` writes it."""

    id: CredentialId
    response: PasskeyAssertion


class PasskeyChallenge(msgspec.Struct, frozen=True, kw_only=True):
    """What a challenge was issued for."""

    party: WebAuthnParty
    purpose: Purpose
    binding: bytes  # the session, or the cookie of the browser that has none
    owner: int | None = None  # the account to be proved; None: any


class PasskeyShown(msgspec.Struct, frozen=True, kw_only=True):
    """A passkey, as its owner sees it."""

    id: int
    name: str
    created_at: float
    used_at: float | None


async def add_passkey(
    site: WebSite,
    party: WebAuthnParty,
    caller: Caller,
    name: str,
    credential: PasskeyRegistration,
    origin: RequestOrigin,
) -> tuple[PasskeyShown, list[str]]:
    """The passkey, and recovery codes if it is the first factor."""
    spelled, response = checked_name(name), credential.response
    before = await site.factors.count(caller.account)
    try:
        challenge = _challenge(decode(response.client_data), "webauthn.create", party)
        await _spend(site, challenge, "register", caller.session)
        new = registered(decode(response.attestation_object), party)
        if new.credential != decode(credential.id):
            raise DecodeError("the credential is another one than its data says")
    except AuthenticationError as error:
        raise RequestRefusedError(403, "wrong_passkey", str(error)) from error
    made = Passkey(
        account=caller.account,
        credential=new.credential,
        public_key=new.key,
        counter=new.counter,
        name=spelled,
        created_at=site.wall(),
    )
    kept = await site.passkeys.add(made)
    await note_factor(site, caller, "factor.add", "passkey", origin)
    return shown(kept), await codes_of_first(site, caller, before, origin)


async def answered(
    site: WebSite,
    expected: PasskeyChallenge,
    credential: PasskeyAuthentication,
    origin: RequestOrigin,
) -> Passkey:
    """The verified passkey; one refusal for every fault, so that it reveals none."""
    await site.login_throttle.check_address(origin.address)
    try:
        known = await site.passkeys.find(decode(credential.id))
        if known is None:
            raise AuthenticationError("no such passkey")
        try:
            await _check(site, expected, credential, known)
        except RemoteError as error:
            await _note_refused(site, known, str(error), origin)
            raise
    except RemoteError as error:
        await site.login_throttle.was_wrong_at(origin.address)
        detail = "this passkey is not known here, or what it answered does not hold; try again"
        raise RequestRefusedError(401, "wrong_passkey", detail) from error
    return known


async def _check(
    site: WebSite, expected: PasskeyChallenge, credential: PasskeyAuthentication, known: Passkey
) -> None:
    response, keys = credential.response, await site.factor_keys()
    client_data = decode(response.client_data)
    challenge = _challenge(client_data, "webauthn.get", expected.party)
    expires_at = challenges.check(keys, challenge, expected.purpose, expected.binding, site.wall())
    if expected.owner not in (None, known.account):
        raise AuthenticationError("the passkey is of another account")
    if response.user_handle and not keys.is_handle_of(known.account, decode(response.user_handle)):
        raise AuthenticationError("the passkey is of another account")
    if expected.owner is None and not response.user_handle:
        raise AuthenticationError("the passkey names no account")
    data, signature = decode(response.authenticator_data), decode(response.signature)
    counter = asserted(data, client_data, signature, known.public_key, expected.party)
    if is_cloned(known.counter, counter):
        raise AuthenticationError("the counter went back: there may be a copy of this passkey")
    await _take(site, challenge, expires_at)
    if not await site.passkeys.advance(known, counter, site.wall()):
        raise AuthenticationError("the passkey was used a moment ago")


async def _spend(site: WebSite, challenge: bytes, purpose: Purpose, binding: bytes) -> None:
    keys = await site.factor_keys()
    await _take(site, challenge, challenges.check(keys, challenge, purpose, binding, site.wall()))


async def _take(site: WebSite, challenge: bytes, expires_at: float) -> None:
    hashed = challenges.used_hash(challenge)
    if not await site.passkeys.spend_challenge(hashed, expires_at, site.wall()):
        raise AuthenticationError("this challenge was answered before")


async def _note_refused(site: WebSite, known: Passkey, why: str, origin: RequestOrigin) -> None:
    account = await site.accounts.get(known.account)
    if account is not None:
        outcome, detail = "wrong passkey", {"why": why}
        await record_audit(
            site, account.login, "session.sign_in", account.login, origin, outcome, detail
        )


def _challenge(client_data: bytes, ceremony: Ceremony, party: WebAuthnParty) -> bytes:
    return check_client_data(read_client_data(client_data), ceremony, party)


def shown(passkey: Passkey) -> PasskeyShown:
    return PasskeyShown(
        id=passkey.id, name=passkey.name, created_at=passkey.created_at, used_at=passkey.used_at
    )
