"""Cipher set 1a: secp160r1, AES-128-CTR, HMAC-SHA256 folded to 4 bytes. Legacy, off by default.

    key, secret   | compressed point |   | scalar |
                  |        21        |   |   20   |
    message       | ephemeral | iv | AES-128-CTR(inner) | mac |
                  |    21     | 4  |         n          |  4  |
    channel part  | iv | AES-128-CTR(inner) | mac |
                  | 4  |         n          |  4  |

An 80-bit curve in pure Python and 32-bit MACs: enough to talk to old endpoints, not to trust.
A message shows whether it was for us only in `verify`; until then its inner may be garbage.
"""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest, digest
from typing import Literal

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from ecdsa.curves import SECP160r1  # type: ignore[import-untyped]
from ecdsa.ellipticcurve import PointJacobi  # type: ignore[import-untyped]
from ecdsa.errors import MalformedPointError  # type: ignore[import-untyped]

from rookery.errors import AuthenticationError, CongestionError, DecodeError
from rookery.identity.cipher_set import KeyPair, OpenedMessage, RandomBytes, routing_token
from rookery.wire.octets import Octets, Parts

CSID = 0x1A
KEY_SIZE = 21
SECRET_SIZE = 20

_IV_SIZE = 4
_MAC_SIZE = 4
_BOX_AT = KEY_SIZE + _IV_SIZE
_COUNTER_PADDING = bytes(16 - _IV_SIZE)

# One agreement takes a millisecond, and peers repeat their handshakes as keepalives.
_AGREEMENTS_MAX = 16_384


class CipherSet1a:
    """The entry of set 1a."""

    __slots__ = ()

    @property
    def csid(self) -> int:
        return CSID

    def generate(self, random: RandomBytes) -> KeyPair:
        secret = _secret(random)
        return KeyPair(_public(secret), secret)

    def load(self, pair: KeyPair) -> "LocalKey1a":
        if len(pair.secret) != SECRET_SIZE or not any(pair.secret):
            raise DecodeError("the secret is not a scalar of the curve")
        if _public(pair.secret) != pair.key:
            raise DecodeError("key and secret do not belong together")
        return LocalKey1a(pair)

    def check_key(self, key: bytes) -> None:
        _point(key)


class LocalKey1a:
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
        if len(body) < _BOX_AT + _MAC_SIZE:
            raise DecodeError(f"{len(body)} bytes cannot be a message")
        ephemeral, iv = body[:KEY_SIZE], body[KEY_SIZE:_BOX_AT]
        key = _message_key(self._agreement(ephemeral))
        inner = _apply(key, iv, body[_BOX_AT:-_MAC_SIZE])
        return OpenedMessage(inner, body, ephemeral, body[-_MAC_SIZE:])

    def verify(self, opened: OpenedMessage, peer_key: bytes) -> None:
        proved = opened.body[:-_MAC_SIZE]
        iv = proved[KEY_SIZE:_BOX_AT]
        if not compare_digest(_mac(self._agreement(peer_key) + iv, proved), opened.proof):
            raise AuthenticationError("the message was not made by the holder of this key")

    def exchange(self, peer_key: bytes, random: RandomBytes) -> "MessageCipher1a":
        return MessageCipher1a(peer_key, self._agreement(peer_key), random)


class MessageCipher1a:
    """Our ephemeral towards one peer."""

    __slots__ = ("_ephemeral", "_ivs", "_message_key", "_secret", "_static_agreement")

    def __init__(self, peer_key: bytes, static_agreement: bytes, random: RandomBytes) -> None:
        self._secret = _secret(random)
        self._ephemeral = _public(self._secret)
        self._message_key = _message_key(agree(self._secret, peer_key))
        self._static_agreement = static_agreement
        # For messages and all sessions of this ephemeral, so that none comes twice under one key.
        self._ivs = _ivs(random(_IV_SIZE))

    @property
    def token(self) -> bytes:
        return routing_token(self._ephemeral)

    def seal(self, inner: bytes) -> bytes:
        iv = _next_iv(self._ivs)
        proved = self._ephemeral + iv + _apply(self._message_key, iv, inner)
        return proved + _mac(self._static_agreement + iv, proved)

    def session(self, opened: OpenedMessage) -> "Session1a":
        agreement = agree(self._secret, opened.ephemeral)
        keys = channel_keys(agreement, self._ephemeral, opened.ephemeral)
        return Session1a(*keys, self._ivs)


class Session1a:
    """Both directions of the channel packets of one pair of ephemerals."""

    __slots__ = ("_ivs", "_receiving", "_sending")

    def __init__(self, sending: bytes, receiving: bytes, ivs: Iterator[bytes]) -> None:
        self._sending = sending
        self._receiving = receiving
        self._ivs = ivs

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
        iv = _next_iv(self._ivs)
        box = _apply(self._sending, iv, inner)
        return prefix + iv + box + _mac(self._sending + iv, box)

    def seal_parts(self, token: bytes, parts: Parts, prefix: bytes) -> bytes:
        return self.seal(token, b"".join(parts), prefix)

    def open(self, token: bytes, part: Octets) -> bytes:
        if len(part) < _IV_SIZE + _MAC_SIZE:
            raise DecodeError(f"{len(part)} bytes cannot be a channel packet")
        iv, box = bytes(part[:_IV_SIZE]), bytes(part[_IV_SIZE:-_MAC_SIZE])
        if not compare_digest(_mac(self._receiving + iv, box), part[-_MAC_SIZE:]):
            raise AuthenticationError("a channel packet of another session, or damaged")
        return _apply(self._receiving, iv, box)


def agree(secret: bytes, peer: bytes) -> bytes:
    """The x coordinate both sides arrive at; the curve has no points of small order."""
    shared = _point(peer) * int.from_bytes(secret, "big")
    return int(shared.x()).to_bytes(SECRET_SIZE, "big")


def channel_keys(agreement: bytes, own: bytes, peer: bytes) -> tuple[bytes, bytes]:
    """The keys for sending and receiving, from both ephemerals."""
    sending = sha256(agreement + own + peer).digest()
    receiving = sha256(agreement + peer + own).digest()
    return _fold(sending), _fold(receiving)


def _message_key(agreement: bytes) -> bytes:
    return _fold(sha256(agreement).digest())


def _fold(data: bytes) -> bytes:
    """The first half XOR the second half."""
    half = len(data) // 2
    folded = int.from_bytes(data[:half], "big") ^ int.from_bytes(data[half:], "big")
    return folded.to_bytes(half, "big")


def _mac(key: bytes, proved: bytes) -> bytes:
    return _fold(_fold(_fold(digest(key, proved, "sha256"))))


def _apply(key: bytes, iv: bytes, data: bytes) -> bytes:
    return Cipher(AES(key), CTR(iv + _COUNTER_PADDING)).encryptor().update(data)


def _ivs(start: bytes) -> Iterator[bytes]:
    """Every IV once, counting up little-endian from a random one."""
    first, period = int.from_bytes(start, "little"), 1 << 8 * _IV_SIZE
    numbers = range(first, first + period)
    return ((number % period).to_bytes(_IV_SIZE, "little") for number in numbers)


def _next_iv(ivs: Iterator[bytes]) -> bytes:
    iv = next(ivs, None)
    if iv is None:
        raise CongestionError("the ephemeral is out of IVs")
    return iv


def _secret(random: RandomBytes) -> bytes:
    while not any(secret := random(SECRET_SIZE)):
        pass
    return secret


def _public(secret: bytes) -> bytes:
    point = SECP160r1.generator * int.from_bytes(secret, "big")
    return bytes(point.to_bytes("compressed"))


def _point(key: bytes) -> PointJacobi:
    try:
        return PointJacobi.from_bytes(SECP160r1.curve, key, valid_encodings=("compressed",))
    except MalformedPointError as error:
        raise DecodeError("the key is not a point of the curve") from error
