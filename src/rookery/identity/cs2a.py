"""Cipher set 2a: RSA-2048 identity, P-256 ephemerals, AES-256-GCM.

    key           DER SubjectPublicKeyInfo, 294 bytes; secret: DER, PKCS#1 or PKCS#8
    message       | RSA-OAEP(P-256 point | message key) | iv | AES-256-GCM(inner | signature) |
                  |                 256                 | 12 |          n + 256 + 16          |
    channel part  | iv | AES-256-GCM(inner) |
                  | 12 |       n + 16       |

The OAEP block names the ephemeral, so it is made once and repeated in every message of it.
"""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import count
from typing import Literal

from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rookery.errors import AuthenticationError, DecodeError
from rookery.identity.cipher_set import KeyPair, OpenedMessage, RandomBytes, routing_token
from rookery.wire.octets import Octets, Parts

CSID = 0x2A
KEY_SIZE = 294  # what DER makes of a 2048-bit modulus and the exponent below

_EXPONENT = 65537
_MODULUS_BITS = 2048
_RSA_SIZE = 256  # an OAEP block as well as a signature
_POINT_SIZE = 65
_AES_KEY_SIZE = 32
_IV_SIZE = 12
_TAG_SIZE = 16
_BOX_AT = _RSA_SIZE + _IV_SIZE
_MESSAGE_SIZE_MIN = _BOX_AT + _RSA_SIZE + _TAG_SIZE
_PART_SIZE_MIN = _IV_SIZE + _TAG_SIZE

_CURVE = ec.SECP256R1()
_CURVE_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
# SHA-1 is what the public implementations use here; OAEP does not need it collision-free.
_OAEP = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)  # noqa: S303
_SIGNATURE = padding.PKCS1v15()

# Peers repeat their handshakes as keepalives; more of them than this decrypt anew each time.
_OPENED_MAX = 16_384


class CipherSet2a:
    """The entry of set 2a."""

    __slots__ = ()

    @property
    def csid(self) -> int:
        return CSID

    def generate(self, random: RandomBytes) -> KeyPair:
        """A new pair; RSA takes its randomness from the system, not from `random`."""
        private = rsa.generate_private_key(_EXPONENT, _MODULUS_BITS)
        secret = private.private_bytes(
            serialization.Encoding.DER,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        return KeyPair(_der(private.public_key()), secret)

    def load(self, pair: KeyPair) -> "LocalKey2a":
        _public_key(pair.key)
        try:
            private = serialization.load_der_private_key(pair.secret, None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise DecodeError("the secret is not a DER private key") from error
        if not isinstance(private, rsa.RSAPrivateKey) or _der(private.public_key()) != pair.key:
            raise DecodeError("key and secret do not belong together")
        return LocalKey2a(pair.key, private)

    def check_key(self, key: bytes) -> None:
        _public_key(key)


class LocalKey2a:
    """Our identity in this set; remembers the OAEP blocks it opened lately."""

    __slots__ = ("_key", "_oaep_open", "_private")

    def __init__(self, key: bytes, private: rsa.RSAPrivateKey) -> None:
        self._key = key
        self._private = private

        @lru_cache(_OPENED_MAX)
        def oaep_open(block: bytes) -> bytes:
            return private.decrypt(block, _OAEP)

        self._oaep_open = oaep_open

    @property
    def csid(self) -> int:
        return CSID

    @property
    def key(self) -> bytes:
        return self._key

    def open(self, body: bytes) -> OpenedMessage:
        if len(body) < _MESSAGE_SIZE_MIN:
            raise DecodeError(f"{len(body)} bytes cannot be a message")
        block, iv = body[:_RSA_SIZE], body[_RSA_SIZE:_BOX_AT]
        try:
            ephemeral = self._oaep_open(block)
        except ValueError as error:
            raise AuthenticationError("the message is not for us, or damaged") from error
        if len(ephemeral) != _POINT_SIZE + _AES_KEY_SIZE:
            raise DecodeError(f"{len(ephemeral)} bytes cannot be a point and a key")
        try:
            signed = AESGCM(ephemeral[_POINT_SIZE:]).decrypt(iv, body[_BOX_AT:], block)
        except InvalidTag as error:
            raise AuthenticationError("the message is not for us, or damaged") from error
        return OpenedMessage(signed[:-_RSA_SIZE], body, ephemeral, signed[-_RSA_SIZE:])

    def verify(self, opened: OpenedMessage, peer_key: bytes) -> None:
        signed = opened.body[:_BOX_AT] + opened.inner
        try:
            _public_key(peer_key).verify(opened.proof, signed, _SIGNATURE, hashes.SHA256())
        except InvalidSignature as error:
            raise AuthenticationError(
                "the message was not made by the holder of this key"
            ) from error

    def exchange(self, peer_key: bytes, random: RandomBytes) -> "MessageCipher2a":
        recipient = _public_key(peer_key)
        ephemeral = _ephemeral(random)
        message_key = random(_AES_KEY_SIZE)
        block = recipient.encrypt(_point(ephemeral) + message_key, _OAEP)
        return MessageCipher2a(self._private, ephemeral, message_key, block, random)


class MessageCipher2a:
    """Our ephemeral towards one peer; `block` is its OAEP encryption for that peer."""

    __slots__ = ("_block", "_counter", "_ephemeral", "_message_key", "_private", "_random")

    def __init__(
        self,
        private: rsa.RSAPrivateKey,
        ephemeral: ec.EllipticCurvePrivateKey,
        message_key: bytes,
        block: bytes,
        random: RandomBytes,
    ) -> None:
        self._private = private
        self._ephemeral = ephemeral
        self._message_key = message_key
        self._block = block
        self._random = random
        # Shared by all sessions of this ephemeral, so that no nonce comes twice under one key.
        self._counter = count()

    @property
    def token(self) -> bytes:
        return routing_token(self._block)

    def seal(self, inner: bytes) -> bytes:
        iv = self._random(_IV_SIZE)
        signature = self._private.sign(self._block + iv + inner, _SIGNATURE, hashes.SHA256())
        box = AESGCM(self._message_key).encrypt(iv, inner + signature, self._block)
        return self._block + iv + box

    def session(self, opened: OpenedMessage) -> "Session2a":
        point, peer_message_key = opened.ephemeral[:_POINT_SIZE], opened.ephemeral[_POINT_SIZE:]
        try:
            peer = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
        except ValueError as error:
            raise DecodeError("the peer's ephemeral is not on the curve") from error
        agreement = self._ephemeral.exchange(ec.ECDH(), peer)
        keys = channel_keys(agreement, self._message_key, peer_message_key)
        return Session2a(*keys, self._counter)


class Session2a:
    """Both directions of the channel packets of one pair of ephemerals."""

    __slots__ = ("_counter", "_decrypt", "_encrypt")

    def __init__(self, sending: bytes, receiving: bytes, counter: Iterator[int]) -> None:
        self._encrypt = AESGCM(sending).encrypt
        self._decrypt = AESGCM(receiving).decrypt
        self._counter = counter

    @property
    def replay_proof(self) -> Literal[False]:
        return False

    @property
    def renewal(self) -> None:
        return None

    def leap(self, random: RandomBytes) -> None:
        """Peers may rely on its IVs to have no gap."""

    def rest(self) -> None:
        """Nothing that could be made anew is worth letting go."""

    def seal(self, token: bytes, inner: bytes, prefix: bytes = b"") -> bytes:
        iv = next(self._counter).to_bytes(_IV_SIZE, "big")
        return prefix + iv + self._encrypt(iv, inner, None)

    def seal_parts(self, token: bytes, parts: Parts, prefix: bytes) -> bytes:
        return self.seal(token, b"".join(parts), prefix)

    def open(self, token: bytes, part: Octets) -> bytes:
        if len(part) < _PART_SIZE_MIN:
            raise DecodeError(f"{len(part)} bytes cannot be a channel packet")
        try:
            return self._decrypt(part[:_IV_SIZE], part[_IV_SIZE:], None)
        except InvalidTag as error:
            raise AuthenticationError("a channel packet of another session, or damaged") from error


def channel_keys(agreement: bytes, own: bytes, peer: bytes) -> tuple[bytes, bytes]:
    """The keys for sending and receiving, from both sides' message keys."""
    return sha256(agreement + own + peer).digest(), sha256(agreement + peer + own).digest()


def _public_key(key: bytes) -> rsa.RSAPublicKey:
    if len(key) != KEY_SIZE:
        raise DecodeError(f"{len(key)} bytes cannot be a key of cipher set 2a")
    try:
        public = serialization.load_der_public_key(key)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise DecodeError("the key is not a DER public key") from error
    if not isinstance(public, rsa.RSAPublicKey) or public.key_size != _MODULUS_BITS:
        raise DecodeError(f"a key of cipher set 2a is RSA with {_MODULUS_BITS} bits")
    if public.public_numbers().e != _EXPONENT:
        raise DecodeError(f"the exponent of a key of cipher set 2a is {_EXPONENT}")
    return public


def _der(public: rsa.RSAPublicKey) -> bytes:
    return public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _ephemeral(random: RandomBytes) -> ec.EllipticCurvePrivateKey:
    """A P-256 scalar by rejection: the bytes drawn are the scalar, unless out of range."""
    while not 0 < (scalar := int.from_bytes(random(32), "big")) < _CURVE_ORDER:
        pass
    return ec.derive_private_key(scalar, _CURVE)


def _point(ephemeral: ec.EllipticCurvePrivateKey) -> bytes:
    return ephemeral.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
