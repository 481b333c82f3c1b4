"""WebAuthn against the specification's own vector, and what is no answer of an authenticator."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from rookery.errors import AuthenticationError, DecodeError
from rookery.web.accounts.factors import cbor, cose
from rookery.web.accounts.factors.authenticator_data import AuthenticatorData
from rookery.web.accounts.factors.base64url import decode
from rookery.web.accounts.factors.webauthn import (
    WebAuthnParty,
    asserted,
    check_client_data,
    is_cloned,
    read_client_data,
    registered,
)
from tests.web.authenticator import SoftPasskey
from tests.web.authenticator import cbor as written

VECTOR = json.loads((Path(__file__).parents[3] / "vectors" / "webauthn.json").read_text())
PARTY = WebAuthnParty(VECTOR["rp_id"], VECTOR["origin"])


def octets(part: str, name: str) -> bytes:
    return bytes.fromhex(VECTOR[part][name])


def vector_key() -> AuthenticatorData:
    fields: Any = cbor.parse(octets("registration", "attestation_object"))
    return AuthenticatorData.parse(fields["authData"])


def test_the_vector_is_read() -> None:
    data = vector_key()
    assert data.credential == octets("registration", "credential")
    assert data.rp_id_hash == sha256(PARTY.rp_id.encode()).digest()
    assert isinstance(cose.parse_key(data.key), ec.EllipticCurvePublicKey)
    for part, kind in (("registration", "webauthn.create"), ("sign_in", "webauthn.get")):
        client_data = read_client_data(octets(part, "client_data"))
        found = check_client_data(client_data, kind, PARTY)  # type: ignore[arg-type]
        assert found == octets(part, "challenge")


def test_the_vectors_signature_holds_and_no_other() -> None:
    key = cose.parse_key(vector_key().key)
    data, client_data = octets("sign_in", "authenticator_data"), octets("sign_in", "client_data")
    signed, signature = data + sha256(client_data).digest(), octets("sign_in", "signature")
    cose.verify(key, signature, signed)
    with pytest.raises(AuthenticationError):
        cose.verify(key, signature, signed[:-1] + bytes([signed[-1] ^ 1]))
    for wrong in (b"", signature[:-1], bytes(len(signature))):
        with pytest.raises(AuthenticationError):
            cose.verify(key, wrong, signed)


def test_the_vector_verified_no_user_so_it_is_refused() -> None:
    with pytest.raises(AuthenticationError, match="did not verify its user"):
        registered(octets("registration", "attestation_object"), PARTY)
    with pytest.raises(AuthenticationError, match="did not verify its user"):
        asserted(
            octets("sign_in", "authenticator_data"),
            octets("sign_in", "client_data"),
            octets("sign_in", "signature"),
            vector_key().key,
            PARTY,
        )


def test_an_answer_to_another_ceremony_is_refused() -> None:
    data = read_client_data(octets("registration", "client_data"))
    with pytest.raises(AuthenticationError, match="another ceremony"):
        check_client_data(data, "webauthn.get", PARTY)


def weak_rsa() -> dict[int, object]:
    numbers = rsa.generate_private_key(65537, 1024).public_key().public_numbers()
    return {1: 3, 3: -257, -1: numbers.n.to_bytes(128, "big"), -2: b"\x01\x00\x01"}


ES256, EDDSA, RS256 = (SoftPasskey.make(kind).cose() for kind in ("ES256", "EdDSA", "RS256"))
KEYS: dict[str, dict[int, object]] = {
    "no key": {},
    "another algorithm": {**ES256, 3: -35},
    "the algorithm of another kind": {**ES256, 3: -8},
    "another curve": {**ES256, -1: 2},
    "a point on no curve": {**ES256, -3: bytes(32)},
    "a short coordinate": {**ES256, -2: bytes(31)},
    "no coordinate": {key: value for key, value in ES256.items() if key != -3},
    "Ed25519 on X25519": {**EDDSA, -1: 4},
    "a long Ed25519 key": {**EDDSA, -2: bytes(33)},
    "RSA of 1024 bits": weak_rsa(),
    "RSA with the exponent 1": {**RS256, -2: b"\x01"},
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_that_were_not_asked_for_are_refused(kind: str) -> None:
    with pytest.raises(DecodeError):
        cose.parse_key(written(KEYS[kind]))


def test_what_is_no_key_is_refused() -> None:
    for data in (b"", b"\x00", written([1]), written(ES256) + b"\x00"):
        with pytest.raises(DecodeError):
            cose.parse_key(data)


@pytest.mark.parametrize("size", range(0, 37))
def test_authenticator_data_that_ends_is_refused(size: int) -> None:
    with pytest.raises(DecodeError):
        AuthenticatorData.parse(octets("sign_in", "authenticator_data")[:size])


def test_authenticator_data_with_more_behind_it_is_refused() -> None:
    with pytest.raises(DecodeError):
        AuthenticatorData.parse(octets("sign_in", "authenticator_data") + b"\x00")


def test_extensions_are_passed_over() -> None:
    plain = bytearray(octets("sign_in", "authenticator_data"))
    plain[32] |= 0x80
    data = AuthenticatorData.parse(bytes(plain) + written({"credProtect": 2}))
    assert data.counter == 0
    with pytest.raises(DecodeError):
        AuthenticatorData.parse(bytes(plain) + written([1]))


@pytest.mark.parametrize("text", ["=", "a", "a b", "ab+", "AB", "é"])
def test_base64url_has_one_form(text: str) -> None:
    with pytest.raises(DecodeError):
        decode(text)


@pytest.mark.parametrize(
    ("stored", "received", "expected"),
    [(0, 0, False), (0, 1, False), (1, 2, False), (1, 1, True), (2, 1, True), (1, 0, True)],
)
def test_a_counter_that_does_not_grow_is_a_copy(stored: int, received: int, expected: bool) -> None:
    assert is_cloned(stored, received) == expected
