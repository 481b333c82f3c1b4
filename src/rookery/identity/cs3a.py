"""Cipher set 3a: NaCl boxes, the common set of the public Telehash world.

key, secret   | Curve25519 |                    agreement = HSalsa20(X25519(secret, key))
              |     32     |
message       | ephemeral | nonce | secretbox(inner) | auth |
              |    32     |  24   |      16 + n      |  16  |
channel part  | nonce | secretbox(inner) |
              |  24   |      16 + n      |
"""

from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import Literal

from cryptography.hazmat.primitives.poly1305 import Poly1305
from nacl.bindings import crypto_box_beforenm, crypto_secretbox, crypto_secretbox_open
from nacl.exceptions import CryptoError

from rookery.errors import AuthenticationError, DecodeError
from rookery.identity import x25519
from rookery.identity.cipher_set import KeyPair, OpenedMessage, RandomBytes, routing_token
from rookery.wire.octets import Octets, Parts

CSID = 0x3A
KEY_SIZE = 32

_NONCE_SIZE = 24
_TAG_SIZE = 16
_AUTH_SIZE = 16
_BOX_AT = KEY_SIZE + _NONCE_SIZE
_MESSAGE_SIZE_MIN = _BOX_AT + _TAG_SIZE + _AUTH_SIZE
_PART_SIZE_MIN = _NONCE_SIZE + _TAG_SIZE

# Peers repeat their handshakes as keepalives; more of them than this agree anew each time.
_AGREEMENTS_MAX = 16_384


class CipherSet3a:
    """The entry of set 3a."""

    __slots__ = ()

    @property
    def csid(self) -> int:
        return CSID

    def generate(self, random: RandomBytes) -> KeyPair:
        secret = random(KEY_SIZE)
        return KeyPair(x25519.public(secret), secret)

    def load(self, pair: KeyPair) -> "LocalKey3a":
        if len(pair.secret) != KEY_SIZE or x25519.public(pair.secret) != pair.key:
            raise DecodeError("key and secret do not belong together")
        return LocalKey3a(pair)

    def check_key(self, key: bytes) -> None:
        if len(key) != KEY_SIZE:
            raise DecodeError(f"{len(key)} bytes cannot be a key of cipher set 3a")


class LocalKey3a:
    """Our identity in this set; remembers what it agreed with recent peers."""

    __slots__ = ("_agreement", "_pair")

    def __init__(self, pair: KeyPair) -> None:
        self._pair = pair

        # Static keys and ephemerals of peers alike: a handshake needs one of each.
        @lru_cache(2 * _AGREEMENTS_MAX)
        def agreement(peer: bytes) -> bytes:
            return agree(pair.secret, peer)

        self._agreement = agreement

    @property
    def csid(self) -> int:
        return CSID

    @property
    def key(self) -> bytes:
        return self._pair.key

    def open(self, body: bytes) -> OpenedMessage:
        if len(body) < _MESSAGE_SIZE_MIN:
            raise DecodeError(f"{len(body)} bytes cannot be a message")
        ephemeral, nonce = body[:KEY_SIZE], body[KEY_SIZE:_BOX_AT]
        key = self._agreement(ephemeral)
        try:
            inner = crypto_secretbox_open(body[_BOX_AT:-_AUTH_SIZE], nonce, key)
        except CryptoError as error:
            raise AuthenticationError("the message is not for us, or damaged") from error
        return OpenedMessage(inner, body, ephemeral, body[-_AUTH_SIZE:])

    def verify(self, opened: OpenedMessage, peer_key: bytes) -> None:
        proved = opened.body[:-_AUTH_SIZE]
        if not compare_digest(_auth(self._static_agreement(peer_key), proved), opened.proof):
            raise AuthenticationError("the message was not made by the holder of this key")

    def exchange(self, peer_key: bytes, random: RandomBytes) -> "MessageCipher3a":
        return MessageCipher3a(peer_key, self._static_agreement(peer_key), random)

    def _static_agreement(self, peer_key: bytes) -> bytes:
        if len(peer_key) != KEY_SIZE:
            raise DecodeError(f"{len(peer_key)} bytes cannot be a key of cipher set 3a")
        return self._agreement(peer_key)


class MessageCipher3a:
    """Our ephemeral towards one peer."""

    __slots__ = ("_ephemeral", "_message_key", "_random", "_secret", "_static_agreement")

    def __init__(self, peer_key: bytes, static_agreement: bytes, random: RandomBytes) -> None:
        self._secret = random(KEY_SIZE)
        self._ephemeral = x25519.public(self._secret)
        self._message_key = agree(self._secret, peer_key)
        self._static_agreement = static_agreement
        self._random = random

    @property
    def token(self) -> bytes:
        return routing_token(self._ephemeral)

    def seal(self, inner: bytes) -> bytes:
        nonce = self._random(_NONCE_SIZE)
        box = crypto_secretbox(inner, nonce, self._message_key)
        proved = self._ephemeral + nonce + box
        return proved + _auth(self._static_agreement, proved)

    def session(self, opened: OpenedMessage) -> "Session3a":
        agreement = agree(self._secret, opened.ephemeral)
        own, peer = self._ephemeral, opened.ephemeral
        sending = sha256(agreement + own + peer).digest()
        receiving = sha256(agreement + peer + own).digest()
        return Session3a(sending, receiving, self._random)


class Session3a:
    """Both directions of the channel packets of one pair of ephemerals."""

    __slots__ = ("_random", "_receiving", "_sending")

    def __init__(self, sending: bytes, receiving: bytes, random: RandomBytes) -> None:
        self._sending = sending
        self._receiving = receiving
        self._random = random

    @property
    def replay_proof(self) -> Literal[False]:
        return False

    @property
    def renewal(self) -> None:
        return None

    def leap(self, random: RandomBytes) -> None:
        """Its nonces are random."""

    def rest(self) -> None:
        """Nothing that could be made anew is worth letting go."""

    def seal(self, token: bytes, inner: bytes, prefix: bytes = b"") -> bytes:
        nonce = self._random(_NONCE_SIZE)
        return prefix + nonce + crypto_secretbox(inner, nonce, self._sending)

    def seal_parts(self, token: bytes, parts: Parts, prefix: bytes) -> bytes:
        return self.seal(token, b"".join(parts), prefix)

    def open(self, token: bytes, part: Octets) -> bytes:
        if len(part) < _PART_SIZE_MIN:
            raise DecodeError(f"{len(part)} bytes cannot be a channel packet")
        try:
            nonce, box = bytes(part[:_NONCE_SIZE]), bytes(part[_NONCE_SIZE:])
            return crypto_secretbox_open(box, nonce, self._receiving)
        except CryptoError as error:
            raise AuthenticationError("a channel packet of another session, or damaged") from error


def agree(secret: bytes, peer: bytes) -> bytes:
    """NaCl's precomputed box key; DecodeError for a point of small order."""
    try:
        return crypto_box_beforenm(peer, secret)
    except CryptoError as error:
        raise DecodeError("a public key of small order") from error


def _auth(static_agreement: bytes, proved: bytes) -> bytes:
    nonce = proved[KEY_SIZE:_BOX_AT]
    return Poly1305.generate_tag(sha256(nonce + static_agreement).digest(), proved)
