"""An authenticator in software: makes passkeys and answers challenges, also wrongly on purpose.

It writes CBOR by itself, so that what reads it is tested against another hand.
"""

import json
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal, Self

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

Algorithm = Literal["ES256", "EdDSA", "RS256"]
PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
Json = dict[str, object]

_UP_UV = 0x05


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def from_base64url(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def cbor(value: object) -> bytes:
    """The canonical form of what authenticators write."""
    match value:
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case list():
            return _head(4, len(value)) + b"".join(map(cbor, value))
        case dict():
            pairs = (cbor(key) + cbor(one) for key, one in value.items())
            return _head(5, len(value)) + b"".join(pairs)
    raise TypeError(value)


def _head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes([kind << 5 | number])
    for low, form in ((24, ">B"), (25, ">H"), (26, ">I"), (27, ">Q")):
        if number < 1 << 8 * struct.calcsize(form):
            return bytes([kind << 5 | low]) + struct.pack(form, number)
    raise ValueError(number)


@dataclass(frozen=True)
class SoftPasskey:
    """One credential of it; `forged` changes how it answers."""

    key: PrivateKey
    credential: bytes
    rp_id: str = "hub.test"
    origin: str = "http://hub.test"
    handle: bytes = b""
    flags: int = _UP_UV
    counter: int = 1
    cross_origin: bool = False
    extra: Json = field(default_factory=dict)

    @classmethod
    def make(cls, algorithm: Algorithm = "ES256") -> Self:
        key: PrivateKey
        match algorithm:
            case "ES256":
                key = ec.generate_private_key(ec.SECP256R1())
            case "EdDSA":
                key = ed25519.Ed25519PrivateKey.generate()
            case "RS256":
                key = rsa.generate_private_key(65537, 2048)
        return cls(key, os.urandom(32))

    def forged(
        self,
        *,
        rp_id: str | None = None,
        origin: str | None = None,
        flags: int | None = None,
        counter: int | None = None,
        cross_origin: bool = False,
    ) -> "SoftPasskey":
        return replace(
            self,
            rp_id=self.rp_id if rp_id is None else rp_id,
            origin=self.origin if origin is None else origin,
            flags=self.flags if flags is None else flags,
            counter=self.counter if counter is None else counter,
            cross_origin=cross_origin,
        )

    def registration(self, options: Json) -> Json:
        """What `navigator.credentials.create` answers."""
        data = self._data(0x40, counter=0) + bytes(16)
        data += struct.pack(">H", len(self.credential)) + self.credential + cbor(self.cose())
        attestation = cbor({"fmt": "none", "attStmt": {}, "authData": data})
        return self._credential(
            {
                "clientDataJSON": base64url(self._client_data("webauthn.create", options)),
                "attestationObject": base64url(attestation),
            }
        )

    def assertion(self, options: Json, handle: bytes = b"") -> Json:
        """What `navigator.credentials.get` answers."""
        client_data = self._client_data("webauthn.get", options)
        data = self._data(0)
        signature = self.sign(data + sha256(client_data).digest())
        return self._credential(
            {
                "clientDataJSON": base64url(client_data),
                "authenticatorData": base64url(data),
                "signature": base64url(signature),
                "userHandle": base64url(handle) if handle else None,
            }
        )

    def sign(self, message: bytes) -> bytes:
        match self.key:
            case ec.EllipticCurvePrivateKey():
                return self.key.sign(message, ec.ECDSA(SHA256()))
            case ed25519.Ed25519PrivateKey():
                return self.key.sign(message)
            case rsa.RSAPrivateKey():
                return self.key.sign(message, padding.PKCS1v15(), SHA256())

    def cose(self) -> dict[int, object]:
        match self.key:
            case ec.EllipticCurvePrivateKey():
                point = self.key.public_key().public_numbers()
                x, y = (number.to_bytes(32, "big") for number in (point.x, point.y))
                return {1: 2, 3: -7, -1: 1, -2: x, -3: y}
            case ed25519.Ed25519PrivateKey():
                return {1: 1, 3: -8, -1: 6, -2: self.key.public_key().public_bytes_raw()}
            case rsa.RSAPrivateKey():
                numbers = self.key.public_key().public_numbers()
                n = numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")
                return {1: 3, 3: -257, -1: n, -2: numbers.e.to_bytes(3, "big")}

    def _data(self, more_flags: int, counter: int | None = None) -> bytes:
        count = self.counter if counter is None else counter
        hashed = sha256(self.rp_id.encode()).digest()
        return hashed + struct.pack(">BI", self.flags | more_flags, count)

    def _client_data(self, kind: str, options: Json) -> bytes:
        client_data = {
            "type": kind,
            "challenge": options["challenge"],
            "origin": self.origin,
            "crossOrigin": self.cross_origin,
        }
        return json.dumps(client_data | self.extra, separators=(",", ":")).encode()

    def _credential(self, response: Json) -> Json:
        name = base64url(self.credential)
        return {
            "id": name,
            "rawId": name,
            "type": "public-key",
            "clientExtensionResults": {},
            "response": response,
        }
