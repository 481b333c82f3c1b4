"""WebAuthn (Level 3), the relying party's side: verification of registrations and assertions.

Attestation statements are ignored (`none` is requested): the account's owner chooses which
authenticator to trust. An assertion must be signed by a registered key over our challenge, for
this origin, with user verification.
"""

from hashlib import sha256
from hmac import compare_digest
from typing import Literal

import msgspec

from rookery.errors import AuthenticationError, DecodeError
from rookery.web.accounts.factors import cbor, cose
from rookery.web.accounts.factors.authenticator_data import (
    HAS_CREDENTIAL,
    USER_PRESENT,
    USER_VERIFIED,
    AuthenticatorData,
)
from rookery.web.accounts.factors.base64url import decode

Ceremony = Literal["webauthn.create", "webauthn.get"]


class WebAuthnParty(msgspec.Struct, frozen=True):
    """The relying party, as browsers see it."""

    rp_id: str  # the host
    origin: str  # scheme, host and port


class ClientData(msgspec.Struct, frozen=True, rename="camel"):
    """The browser's `clientDataJSON`; the authenticator signs its hash."""

    type: str
    challenge: str
    origin: str
    cross_origin: bool = False


class RegisteredPasskey(msgspec.Struct, frozen=True):
    """A registered passkey."""

    credential: bytes
    key: bytes  # COSE
    counter: int


def read_client_data(data: bytes) -> ClientData:
    """DecodeError for what is none."""
    try:
        return msgspec.json.decode(data, type=ClientData)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("the client data is no JSON of that form") from error


def check_client_data(client_data: ClientData, ceremony: Ceremony, party: WebAuthnParty) -> bytes:
    """The challenge that was answered; AuthenticationError for another ceremony or site."""
    if client_data.type != ceremony:
        raise AuthenticationError(f"this answers another ceremony than {ceremony}")
    if client_data.origin != party.origin or client_data.cross_origin:
        raise AuthenticationError("this was made for another site")
    return decode(client_data.challenge)


def registered(attestation: bytes, party: WebAuthnParty) -> RegisteredPasskey:
    """The key of an attestation object, whose challenge is checked already."""
    fields = cbor.parse(attestation)
    if not isinstance(fields, dict) or not isinstance(data := fields.get("authData"), bytes):
        raise DecodeError("an attestation object has authenticator data")
    authenticator_data = AuthenticatorData.parse(data)
    _check(authenticator_data, party)
    if not authenticator_data.has(HAS_CREDENTIAL):
        raise DecodeError("a registration has a credential")
    cose.parse_key(authenticator_data.key)
    return RegisteredPasskey(
        authenticator_data.credential, authenticator_data.key, authenticator_data.counter
    )


def asserted(
    data: bytes, client_data: bytes, signature: bytes, key: bytes, party: WebAuthnParty
) -> int:
    """The counter of an assertion by that key, for us; AuthenticationError for any other."""
    authenticator_data = AuthenticatorData.parse(data)
    _check(authenticator_data, party)
    cose.verify(cose.parse_key(key), signature, data + sha256(client_data).digest())
    return authenticator_data.counter


def is_cloned(stored: int, received: int) -> bool:
    """True if the counter did not grow, as with a copied key; always 0: no counter."""
    return (stored, received) != (0, 0) and received <= stored


def _check(authenticator_data: AuthenticatorData, party: WebAuthnParty) -> None:
    if not compare_digest(authenticator_data.rp_id_hash, sha256(party.rp_id.encode()).digest()):
        raise AuthenticationError("this was made for another site")
    if not authenticator_data.has(USER_PRESENT | USER_VERIFIED):
        raise AuthenticationError("the authenticator did not verify its user")
