"""Options that begin a WebAuthn ceremony in the browser, in WebAuthn's own JSON."""

import os
from typing import Literal

import msgspec

from rookery.store.accounts.passkeys import Passkey
from rookery.web.accounts.factors import challenges
from rookery.web.accounts.factors.base64url import encode
from rookery.web.accounts.factors.challenges import Purpose
from rookery.web.accounts.factors.cose import ALGORITHMS
from rookery.web.accounts.factors.webauthn import WebAuthnParty
from rookery.web.site import WebSite

_NAME = "rookery hub"
_NONCE_SIZE = 16


class RelyingParty(msgspec.Struct, frozen=True):
    """Us."""

    id: str
    name: str = _NAME


class PasskeyUser(msgspec.Struct, frozen=True, rename="camel"):
    """The account, as the authenticator lists it."""

    id: str
    name: str
    display_name: str


class PasskeyAlgorithm(msgspec.Struct, frozen=True):
    """A kind of key that we understand."""

    alg: int
    type: Literal["public-key"] = "public-key"


class PasskeyDescriptor(msgspec.Struct, frozen=True):
    """A passkey that there is already."""

    id: str
    type: Literal["public-key"] = "public-key"


class AuthenticatorSelection(msgspec.Struct, frozen=True, rename="camel"):
    """Which authenticators will do: those that keep the login, and verify their user."""

    resident_key: Literal["required"] = "required"
    require_resident_key: bool = True
    user_verification: Literal["required"] = "required"


class CreationOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """For `navigator.credentials.create`."""

    challenge: str
    rp: RelyingParty
    user: PasskeyUser
    pub_key_cred_params: tuple[PasskeyAlgorithm, ...] = tuple(
        PasskeyAlgorithm(alg) for alg in ALGORITHMS
    )
    timeout: int = challenges.GOOD_S * 1000
    exclude_credentials: list[PasskeyDescriptor]
    authenticator_selection: AuthenticatorSelection = AuthenticatorSelection()
    attestation: Literal["none"] = "none"


class RequestOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """For `navigator.credentials.get`; no credential named: the authenticator offers its own."""

    challenge: str
    rp_id: str
    timeout: int = challenges.GOOD_S * 1000
    user_verification: Literal["required"] = "required"
    allow_credentials: list[PasskeyDescriptor]


async def creation_options(
    site: WebSite, party: WebAuthnParty, account: int, login: str, binding: bytes
) -> CreationOptions:
    """For a new passkey of the account."""
    keys = await site.factor_keys()
    return CreationOptions(
        challenge=await _challenge(site, "register", binding),
        rp=RelyingParty(party.rp_id),
        user=PasskeyUser(encode(keys.user_handle(account)), login, login),
        exclude_credentials=_described(await site.passkeys.of(account)),
    )


async def request_options(
    site: WebSite, party: WebAuthnParty, purpose: Purpose, binding: bytes, known: list[Passkey]
) -> RequestOptions:
    """For an answer by one of those, or by any."""
    return RequestOptions(
        challenge=await _challenge(site, purpose, binding),
        rp_id=party.rp_id,
        allow_credentials=_described(known),
    )


async def _challenge(site: WebSite, purpose: Purpose, binding: bytes) -> str:
    nonce = os.urandom(_NONCE_SIZE)
    keys = await site.factor_keys()
    return encode(challenges.issue(keys, purpose, binding, nonce, site.wall()))


def _described(passkeys: list[Passkey]) -> list[PasskeyDescriptor]:
    return [PasskeyDescriptor(encode(one.credential)) for one in passkeys]
