"""Cipher set 40: X25519 and Ed25519 identity, HKDF-SHA256, AEAD with counter and replay window.

    key, secret   | X25519 | Ed25519 |
                  |   32   |   32    |
    message       | ephemeral | flags | nonce | AES-256-GCM(inner) | mac |
                  |    32     |   1   |  12   |       n + 16       | 16  |

Messages are encrypted to the recipient by ephemeral-static agreement and proved by a MAC under
static-static agreement; sessions (`cs40_session`) come from both ephemerals.
docs/protocol/cipher-set-40.md is normative.
"""

from functools import lru_cache
from hmac import compare_digest, digest
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from nacl.bindings import crypto_sign_seed_keypair

from rookery.errors import AuthenticationError, DecodeError, ProtocolError
from rookery.identity import hkdf, x25519
from rookery.identity.cipher_set import KeyPair, OpenedMessage, RandomBytes, routing_token
from rookery.identity.cs40_session import Ephemeral40, Schedule40, Session40

CSID: Final = 0x40
KEY_SIZE: Final = 64

NO_AES: Final = 0x01  # flag: my CPU has no AES instructions
RENEWS: Final = 0x02  # flag: I renew keys inside the session

_EPHEMERAL_SIZE: Final = 32
_NONCE_SIZE: Final = 12
_TAG_SIZE: Final = 16
_MAC_SIZE: Final = 16
_NONCE_AT: Final = _EPHEMERAL_SIZE + 1
_BOX_AT: Final = _NONCE_AT + _NONCE_SIZE
_MESSAGE_SIZE_MIN: Final = _BOX_AT + _TAG_SIZE + _MAC_SIZE

_MESSAGE_LABEL: Final = b"rookery cs40 message"
_MAC_LABEL: Final = b"rookery cs40 mac"
_RENEWAL_LABEL: Final = b"rookery cs40 renewal"

# Peers repeat their handshakes as keepalives; more of them than this agree anew each time.
_AGREEMENTS_MAX: Final = 16_384


class CipherSet40:
    """`flags` is what this side's messages carry: NO_AES on a CPU without AES, RENEWS always."""

    __slots__ = ("_flags",)

    def __init__(self, flags: int = RENEWS) -> None:
        self._flags = flags

    @property
    def csid(self) -> int:
        return CSID

    def generate(self, random: RandomBytes) -> KeyPair:
        secret = random(KEY_SIZE)
        return KeyPair(_public(secret), secret)

    def load(self, pair: KeyPair) -> "LocalKey40":
        if len(pair.secret) != KEY_SIZE or _public(pair.secret) != pair.key:
            raise DecodeError("key and secret do not belong together")
        return LocalKey40(pair, self._flags)

    def check_key(self, key: bytes) -> None:
        if len(key) != KEY_SIZE:
            raise DecodeError(f"{len(key)} bytes cannot be a key of cipher set 40")


class LocalKey40:
    """Our identity in this set; remembers what it agreed with recent peers."""

    __slots__ = ("_flags", "_message_key", "_pair", "_static_agreement")

    def __init__(self, pair: KeyPair, flags: int) -> None:
        secret = pair.secret[: x25519.KEY_SIZE]
        self._pair = pair
        self._flags = flags

        @lru_cache(_AGREEMENTS_MAX)
        def message_key(ephemeral: bytes) -> bytes:
            return _message_key(x25519.agree(secret, ephemeral), ephemeral, pair.key)

        @lru_cache(_AGREEMENTS_MAX)
        def static_agreement(peer_key: bytes) -> bytes:
            return hkdf.extract(x25519.agree(secret, peer_key[: x25519.KEY_SIZE]))

        self._message_key = message_key
        self._static_agreement = static_agreement

    @property
    def csid(self) -> int:
        return CSID

    @property
    def key(self) -> bytes:
        return self._pair.key

    def open(self, body: bytes) -> OpenedMessage:
        if len(body) < _MESSAGE_SIZE_MIN:
            raise DecodeError(f"{len(body)} bytes cannot be a message")
        ephemeral = body[:_EPHEMERAL_SIZE]
        box = AESGCM(self._message_key(ephemeral))
        try:
            inner = box.decrypt(body[_NONCE_AT:_BOX_AT], body[_BOX_AT:-_MAC_SIZE], body[:_NONCE_AT])
        except InvalidTag as error:
            raise AuthenticationError("the message is not for us, or damaged") from error
        return OpenedMessage(inner, body, ephemeral, body[-_MAC_SIZE:])

    def verify(self, opened: OpenedMessage, peer_key: bytes) -> None:
        if len(peer_key) != KEY_SIZE:
            raise DecodeError(f"{len(peer_key)} bytes cannot be a key of cipher set 40")
        key = _mac_key(self._static_agreement(peer_key), peer_key, self.key)
        if not compare_digest(_mac(key, opened.body[:-_MAC_SIZE]), opened.proof):
            raise AuthenticationError("the message was not made by the holder of this key")

    def exchange(self, peer_key: bytes, random: RandomBytes) -> "MessageCipher40":
        if len(peer_key) != KEY_SIZE:
            raise DecodeError(f"{len(peer_key)} bytes cannot be a key of cipher set 40")
        static_agreement = self._static_agreement(peer_key)
        mac_key = _mac_key(static_agreement, self.key, peer_key)
        binding = hkdf.expand(
            static_agreement, _RENEWAL_LABEL + min(self.key, peer_key) + max(self.key, peer_key)
        )
        return MessageCipher40(peer_key, mac_key, binding, self._flags, random)


class MessageCipher40:
    """Our ephemeral towards one peer."""

    __slots__ = (
        "_binding",
        "_ephemeral",
        "_flags",
        "_head",
        "_mac_key",
        "_message_key",
        "_random",
        "_session",
    )

    def __init__(
        self, peer_key: bytes, mac_key: bytes, binding: bytes, flags: int, random: RandomBytes
    ) -> None:
        secret = random(x25519.KEY_SIZE)
        ephemeral = x25519.public(secret)
        agreement = x25519.agree(secret, peer_key[: x25519.KEY_SIZE])
        self._message_key = _message_key(agreement, ephemeral, peer_key)
        self._mac_key = mac_key
        self._binding = binding
        self._flags = flags
        self._head = ephemeral + bytes((flags,))
        self._random = random
        self._ephemeral = Ephemeral40(secret)
        self._session: tuple[bytes, Session40] | None = None

    @property
    def token(self) -> bytes:
        return routing_token(self._head)

    def seal(self, inner: bytes) -> bytes:
        nonce = self._random(_NONCE_SIZE)
        proved = self._head + nonce + AESGCM(self._message_key).encrypt(nonce, inner, self._head)
        return proved + _mac(self._mac_key, proved)

    def session(self, opened: OpenedMessage) -> "Session40":
        """The same peer ephemeral and flags give the same session, replay window included."""
        peer_head = opened.body[:_NONCE_AT]
        if self._session is None or self._session[0] != peer_head:
            self._session = peer_head, self._new_session(opened.ephemeral, peer_head[-1])
        return self._session[1]

    def _new_session(self, peer: bytes, peer_flags: int) -> "Session40":
        secret = self._ephemeral.secret
        if secret is None:
            raise ProtocolError("the keys were renewed: only a new ephemeral makes a session")
        own = self._head[:_EPHEMERAL_SIZE]
        is_aes = not (self._flags | peer_flags) & NO_AES
        schedule = Schedule40(own, peer, is_aes=is_aes, binding=self._binding)
        keys = schedule.begin(x25519.agree(secret, peer))
        renews = bool(self._flags & peer_flags & RENEWS)
        return Session40(keys, self._ephemeral, schedule if renews else None)


def _public(secret: bytes) -> bytes:
    signing_key, _ = crypto_sign_seed_keypair(secret[x25519.KEY_SIZE :])
    return x25519.public(secret[: x25519.KEY_SIZE]) + signing_key


def _message_key(agreement: bytes, ephemeral: bytes, recipient_key: bytes) -> bytes:
    return hkdf.expand(hkdf.extract(agreement), _MESSAGE_LABEL + ephemeral + recipient_key)


def _mac_key(static_agreement: bytes, sender_key: bytes, recipient_key: bytes) -> bytes:
    return hkdf.expand(static_agreement, _MAC_LABEL + sender_key + recipient_key)


def _mac(key: bytes, proved: bytes) -> bytes:
    return digest(key, proved, "sha256")[:_MAC_SIZE]
