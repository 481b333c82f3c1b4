"""Cipher set 40: X25519 and Ed25519 identity, HKDF-SHA256, AEAD with counter and replay window.

    key, secret   | X25519 | Ed25519 |
                  |   32   |   32    |
    message       | ephemeral | flags | nonce | AES-256-GCM(inner) | mac |
                  |    32     |   1   |  12   |       n + 16       | 16  |
    channel part  | counter | AEAD(inner) |
                  |    8    |   n + 16    |

Messages are encrypted to the recipient by ephemeral-static agreement and proved by a MAC under
static-static agreement; sessions come from both ephemerals. docs/protocol/cipher-set-40.md is
normative.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from hmac import compare_digest, digest
from itertools import count
from struct import Struct
from typing import Final, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from nacl.bindings import crypto_sign_seed_keypair

from rookery.errors import AuthenticationError, CongestionError, DecodeError
from rookery.identity import hkdf, x25519
from rookery.identity.cipher_set import KeyPair, Opened, RandomBytes, routing_token
from rookery.identity.replay import ReplayWindow
from rookery.wire.octets import Octets, Parts
from rookery.wire.tail import tail

CSID: Final = 0x40
KEY_SIZE: Final = 64
COUNTER_MAX: Final = (1 << 64) - 1

NO_AES: Final = 0x01  # flag: my CPU has no AES instructions

_EPHEMERAL_SIZE: Final = 32
_NONCE_SIZE: Final = 12
_TAG_SIZE: Final = 16
_MAC_SIZE: Final = 16
_COUNTER_SIZE: Final = 8
_COUNTER: Final = Struct(">Q")
_NONCE_AT: Final = _EPHEMERAL_SIZE + 1
_BOX_AT: Final = _NONCE_AT + _NONCE_SIZE
_MESSAGE_SIZE_MIN: Final = _BOX_AT + _TAG_SIZE + _MAC_SIZE
_PART_SIZE_MIN: Final = _COUNTER_SIZE + _TAG_SIZE
_COUNTER_PADDING: Final = bytes(_NONCE_SIZE - _COUNTER_SIZE)

_MESSAGE_LABEL: Final = b"rookery cs40 message"
_MAC_LABEL: Final = b"rookery cs40 mac"
_AES_LABEL: Final = b"rookery cs40 channel aes-256-gcm"
_CHACHA_LABEL: Final = b"rookery cs40 channel chacha20-poly1305"

# Peers repeat their handshakes as keepalives; more of them than this agree anew each time.
_AGREEMENTS_MAX: Final = 16_384

Aead = AESGCM | ChaCha20Poly1305
Crypt = Callable[[bytes, bytes | memoryview, bytes | None], bytes]


class CipherSet40:
    """`flags` is what this side's messages carry: 0, or NO_AES on a CPU without AES."""

    __slots__ = ("_flags",)

    def __init__(self, flags: int = 0) -> None:
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

    def open(self, body: bytes) -> Opened:
        if len(body) < _MESSAGE_SIZE_MIN:
            raise DecodeError(f"{len(body)} bytes cannot be a message")
        ephemeral = body[:_EPHEMERAL_SIZE]
        box = AESGCM(self._message_key(ephemeral))
        try:
            inner = box.decrypt(body[_NONCE_AT:_BOX_AT], body[_BOX_AT:-_MAC_SIZE], body[:_NONCE_AT])
        except InvalidTag as error:
            raise AuthenticationError("the message is not for us, or damaged") from error
        return Opened(inner, body, ephemeral, body[-_MAC_SIZE:])

    def verify(self, opened: Opened, peer_key: bytes) -> None:
        if len(peer_key) != KEY_SIZE:
            raise DecodeError(f"{len(peer_key)} bytes cannot be a key of cipher set 40")
        key = _mac_key(self._static_agreement(peer_key), peer_key, self.key)
        if not compare_digest(_mac(key, opened.body[:-_MAC_SIZE]), opened.proof):
            raise AuthenticationError("the message was not made by the holder of this key")

    def exchange(self, peer_key: bytes, random: RandomBytes) -> "MessageCipher40":
        if len(peer_key) != KEY_SIZE:
            raise DecodeError(f"{len(peer_key)} bytes cannot be a key of cipher set 40")
        mac_key = _mac_key(self._static_agreement(peer_key), self.key, peer_key)
        return MessageCipher40(peer_key, mac_key, self._flags, random)


class MessageCipher40:
    """Our ephemeral towards one peer."""

    __slots__ = (
        "_counter",
        "_flags",
        "_head",
        "_mac_key",
        "_message_key",
        "_random",
        "_secret",
        "_session",
    )

    def __init__(self, peer_key: bytes, mac_key: bytes, flags: int, random: RandomBytes) -> None:
        self._secret = random(x25519.KEY_SIZE)
        ephemeral = x25519.public(self._secret)
        agreement = x25519.agree(self._secret, peer_key[: x25519.KEY_SIZE])
        self._message_key = _message_key(agreement, ephemeral, peer_key)
        self._mac_key = mac_key
        self._flags = flags
        self._head = ephemeral + bytes((flags,))
        self._random = random
        # All sessions of one ephemeral share the counter: a nonce never comes twice, not even
        # when a peer goes back to an ephemeral it used before.
        self._counter = count()
        self._session: tuple[bytes, Session40] | None = None

    @property
    def token(self) -> bytes:
        return routing_token(self._head)

    def seal(self, inner: bytes) -> bytes:
        nonce = self._random(_NONCE_SIZE)
        proved = self._head + nonce + AESGCM(self._message_key).encrypt(nonce, inner, self._head)
        return proved + _mac(self._mac_key, proved)

    def session(self, opened: Opened) -> "Session40":
        """The same peer ephemeral and flags give the same session, replay window included."""
        peer_head = opened.body[:_NONCE_AT]
        if self._session is None or self._session[0] != peer_head:
            self._session = peer_head, self._new_session(opened.ephemeral, peer_head[-1])
        return self._session[1]

    def _new_session(self, peer: bytes, peer_flags: int) -> "Session40":
        own = self._head[:_EPHEMERAL_SIZE]
        extracted = hkdf.extract(x25519.agree(self._secret, peer))
        aead: type[AESGCM] | type[ChaCha20Poly1305] = AESGCM
        label = _AES_LABEL
        if (self._flags | peer_flags) & NO_AES:
            aead, label = ChaCha20Poly1305, _CHACHA_LABEL
        key = hkdf.expand(extracted, label + own + peer)
        receiving = partial(aead, hkdf.expand(extracted, label + peer + own))
        is_aes = aead is AESGCM
        return Session40(partial(aead, key), receiving, self._counter, key if is_aes else None)


class Session40:
    """Both directions of the channel packets of one pair of ephemerals.

    A cipher ready for use takes kilobytes, so it is made when needed and let go by `rest`.
    """

    __slots__ = ("_counter", "_decrypt", "_encrypt", "_key", "_receiving", "_sending", "_window")

    def __init__(
        self,
        sending: Callable[[], Aead],
        receiving: Callable[[], Aead],
        counter: Iterator[int],
        key: bytes | None = None,
    ) -> None:
        """`key` is that of sending, where the cipher is AES and so can take a packet in parts."""
        self._key = key
        self._sending = sending
        self._receiving = receiving
        self._encrypt: Crypt | None = None
        self._decrypt: Crypt | None = None
        self._counter = counter
        self._window = ReplayWindow()

    @property
    def replay_proof(self) -> Literal[True]:
        return True

    def rest(self) -> None:
        self._encrypt = self._decrypt = None

    def seal(self, token: bytes, inner: bytes, prefix: bytes = b"") -> bytes:
        counter = self._next_counter()
        encrypt = self._encrypt
        if encrypt is None:
            encrypt = self._encrypt = self._sending().encrypt
        sealed = encrypt(_COUNTER_PADDING + counter, inner, token)
        return prefix + counter + sealed

    def seal_parts(self, token: bytes, parts: Parts, prefix: bytes) -> bytes | bytearray:
        """Encrypted part by part to where they belong, instead of copied there and back."""
        if self._key is None:
            return self.seal(token, b"".join(parts), prefix)
        counter = self._next_counter()
        cipher = Cipher(AES(self._key), GCM(_COUNTER_PADDING + counter)).encryptor()
        cipher.authenticate_additional_data(token)
        lead = prefix + counter
        sealed = bytearray(len(lead) + sum(map(len, parts)) + _TAG_SIZE)
        at = len(lead)
        sealed[:at] = lead
        with memoryview(sealed) as view:
            for part in parts:
                at += cipher.update_into(part, view[at:])
        cipher.finalize()
        sealed[at:] = cipher.tag
        return sealed

    def open(self, token: bytes, part: Octets) -> bytes:
        if len(part) < _PART_SIZE_MIN:
            raise DecodeError(f"{len(part)} bytes cannot be a channel packet")
        head = part[:_COUNTER_SIZE] if isinstance(part, bytes) else bytes(part[:_COUNTER_SIZE])
        counter: int = _COUNTER.unpack(head)[0]
        if not self._window.is_fresh(counter):
            raise AuthenticationError("a replayed or very late channel packet")
        decrypt = self._decrypt
        if decrypt is None:
            decrypt = self._decrypt = self._receiving().decrypt
        try:
            inner = decrypt(_COUNTER_PADDING + head, tail(part, _COUNTER_SIZE), token)
        except InvalidTag as error:
            raise AuthenticationError("a channel packet of another session, or damaged") from error
        self._window.accept(counter)
        return inner

    def _next_counter(self) -> bytes:
        try:
            return next(self._counter).to_bytes(_COUNTER_SIZE, "big")
        except OverflowError as error:
            raise CongestionError("the session is out of counters") from error


def _public(secret: bytes) -> bytes:
    signing_key, _ = crypto_sign_seed_keypair(secret[x25519.KEY_SIZE :])
    return x25519.public(secret[: x25519.KEY_SIZE]) + signing_key


def _message_key(agreement: bytes, ephemeral: bytes, recipient_key: bytes) -> bytes:
    return hkdf.expand(hkdf.extract(agreement), _MESSAGE_LABEL + ephemeral + recipient_key)


def _mac_key(static_agreement: bytes, sender_key: bytes, recipient_key: bytes) -> bytes:
    return hkdf.expand(static_agreement, _MAC_LABEL + sender_key + recipient_key)


def _mac(key: bytes, proved: bytes) -> bytes:
    return digest(key, proved, "sha256")[:_MAC_SIZE]
