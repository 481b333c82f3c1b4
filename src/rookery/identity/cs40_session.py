"""Sessions of cipher set 40: channel packets, and the keys of each phase that seal them.

    channel part  | counter | AEAD(inner) |      counter  | phase | number |
                  |    8    |   n + 16    |               |   3   |   5    |

Phase 0 has the keys of the handshake. Where both ends renew keys, each later phase has keys of two
fresh ephemerals; packets of other phases than the current one are opened as long as their keys are
kept. docs/protocol/cipher-set-40.md is normative.
"""

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import Final, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM

from rookery.errors import AuthenticationError, CongestionError, DecodeError, ProtocolError
from rookery.identity import hkdf, x25519
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.replay import ReplayWindow
from rookery.wire.octets import Octets, Parts, tail

COUNTER_MAX: Final = (1 << 64) - 1
NUMBER_BITS: Final = 40
EARLIER_MAX: Final = 8  # phases whose packets may still come

_NONCE_SIZE: Final = 12
_TAG_SIZE: Final = 16
_COUNTER_SIZE: Final = 8
_COUNTER: Final = Struct(">Q")
_PART_SIZE_MIN: Final = _COUNTER_SIZE + _TAG_SIZE
_COUNTER_PADDING: Final = bytes(_NONCE_SIZE - _COUNTER_SIZE)
_PHASE_SIZE: Final = 4
_LEAP_SIZE: Final = 5  # bytes of chance in a leap,
_LEAP_SHIFT: Final = 2  # of which so many bits are too many for a phase to have several
_LEAP_MIN: Final = 1 << 32  # more packets than a key ever seals

_AES_LABEL: Final = b"rookery cs40 channel aes-256-gcm"
_CHACHA_LABEL: Final = b"rookery cs40 channel chacha20-poly1305"
_CHAIN_LABEL: Final = b"rookery cs40 renewal chain"

Aead = AESGCM | ChaCha20Poly1305
Crypt = Callable[[bytes, bytes | memoryview, bytes | None], bytes]


class Counter40:
    """The counter of the next packet."""

    __slots__ = ("next",)

    def __init__(self, start: int = 0) -> None:
        self.next = start


class Ephemeral40:
    """What the sessions of one ephemeral share: its secret, and the counter of phase 0.

    So a nonce never comes twice, not even when a peer goes back to an ephemeral it used before.
    The first renewal forgets the secret, from which the keys of phase 0 could be made again.
    """

    __slots__ = ("counter", "secret")

    def __init__(self, secret: bytes) -> None:
        self.secret: bytes | None = secret
        self.counter = Counter40()


class Keys40:
    """The keys of one phase, as ciphers to be made when needed.

    `key` is that of sending, where the cipher is AES and so can take a packet in parts.
    """

    __slots__ = ("key", "receiving", "sending")

    def __init__(
        self, sending: Callable[[], Aead], receiving: Callable[[], Aead], key: bytes | None = None
    ) -> None:
        self.sending = sending
        self.receiving = receiving
        self.key = key


class Schedule40:
    """Derives the keys of each phase from those before it and what the ends newly agreed on."""

    __slots__ = ("_binding", "_chain", "_is_aes", "_own", "_peer", "phase")

    def __init__(self, own: bytes, peer: bytes, *, is_aes: bool, binding: bytes) -> None:
        """`own` and `peer` are the ephemerals of the messages; `binding` is of the static keys."""
        self._own = own
        self._peer = peer
        self._is_aes = is_aes
        self._binding = binding
        self._chain = b""
        self.phase = 0

    def begin(self, agreement: bytes) -> Keys40:
        """The keys of phase 0."""
        return self._keys(hkdf.extract(agreement), b"")

    def go_on(self, agreement: bytes, offered: bytes, answered: bytes) -> Keys40:
        """The keys of the next phase."""
        self.phase += 1
        extracted = hkdf.extract(agreement + self._binding, self._chain)
        return self._keys(extracted, self.phase.to_bytes(_PHASE_SIZE, "big") + offered + answered)

    def _keys(self, extracted: bytes, context: bytes) -> Keys40:
        self._chain = hkdf.expand(extracted, _CHAIN_LABEL)
        own, peer = self._own, self._peer
        aead: type[AESGCM] | type[ChaCha20Poly1305] = AESGCM
        label = _AES_LABEL
        if not self._is_aes:
            aead, label = ChaCha20Poly1305, _CHACHA_LABEL
        key = hkdf.expand(extracted, label + context + own + peer)
        receiving = partial(aead, hkdf.expand(extracted, label + context + peer + own))
        return Keys40(partial(aead, key), receiving, key if self._is_aes else None)


class Opening40:
    """Opens the packets of one phase."""

    __slots__ = ("_decrypt", "_receiving", "_window", "phase")

    def __init__(self, receiving: Callable[[], Aead], phase: int = 0) -> None:
        self.phase = phase
        self._receiving = receiving
        self._decrypt: Crypt | None = None
        self._window = ReplayWindow(phase << NUMBER_BITS)

    def rest(self) -> None:
        self._decrypt = None

    def open(self, counter: int, head: bytes, token: bytes, part: Octets) -> bytes:
        """The inner packet; `counter` is parsed from `head`, the first bytes of the part."""
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


class Session40:
    """Both directions of the channel packets of one pair of ephemerals.

    A cipher ready for use takes kilobytes, so it is made when needed and let go by `rest`.
    """

    __slots__ = (
        "_ahead",
        "_counter",
        "_earlier",
        "_encrypt",
        "_key",
        "_next",
        "_opening",
        "_renewal",
        "_sending",
    )

    def __init__(
        self, keys: Keys40, ephemeral: Ephemeral40, schedule: Schedule40 | None = None
    ) -> None:
        """With a schedule, its keys are renewed."""
        self._key = keys.key
        self._sending = keys.sending
        self._encrypt: Crypt | None = None
        self._counter = ephemeral.counter
        self._ahead = 0  # where the numbers of the next phase begin
        self._opening = Opening40(keys.receiving)
        self._next: Opening40 | None = None
        self._earlier: dict[int, Opening40] = {}
        self._renewal = Renewal40(self, schedule, ephemeral) if schedule is not None else None

    @property
    def replay_proof(self) -> Literal[True]:
        return True

    @property
    def renewal(self) -> "Renewal40 | None":
        return self._renewal

    @property
    def opening_phase(self) -> int:
        """The latest phase that a packet of the peer has shown."""
        return self._opening.phase

    def leap(self, random: RandomBytes) -> None:
        number = self._counter.next + _leap(random)
        is_beyond = number > COUNTER_MAX
        if self._renewal is not None:
            is_beyond = number >> NUMBER_BITS != self._renewal.phase
            self._ahead = _leap(random)  # the copy may be about to have the same next keys
        if is_beyond:
            raise CongestionError("the session is out of counters")
        self._counter.next = number

    def rest(self) -> None:
        self._encrypt = None
        self._opening.rest()
        for earlier in self._earlier.values():
            earlier.rest()

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
        opening = self._opening
        if counter >> NUMBER_BITS != opening.phase and self._renewal is not None:
            return self._open_apart(counter, head, token, part)
        return opening.open(counter, head, token, part)

    def expect(self, receiving: Callable[[], Aead], phase: int) -> None:
        """From now on the peer may use the keys of this phase."""
        self._next = Opening40(receiving, phase)

    def seal_under(self, keys: Keys40, phase: int) -> None:
        """From now on packets are sealed under the keys of this phase."""
        self._key = keys.key
        self._sending = keys.sending
        self._encrypt = None
        self._counter = Counter40((phase << NUMBER_BITS) + self._ahead)
        self._ahead = 0

    def retire(self, phase: int) -> None:
        """Forget what opens packets of this phase, and of those before it."""
        for earlier in [each for each in self._earlier if each <= phase]:
            del self._earlier[earlier]

    def _open_apart(self, counter: int, head: bytes, token: bytes, part: Octets) -> bytes:
        """A packet of another phase than the peer's latest."""
        phase, following = counter >> NUMBER_BITS, self._next
        if following is not None and phase == following.phase:
            inner = following.open(counter, head, token, part)
            self._earlier[self._opening.phase] = self._opening
            self._opening, self._next = following, None
            self.retire(phase - 1 - EARLIER_MAX)
            return inner
        earlier = self._earlier.get(phase)
        if earlier is None:
            raise AuthenticationError("a channel packet under keys that are not here")
        return earlier.open(counter, head, token, part)

    def _next_counter(self) -> bytes:
        counter = self._counter
        number = counter.next
        counter.next = number + 1
        try:
            return number.to_bytes(_COUNTER_SIZE, "big")
        except OverflowError as error:
            raise CongestionError("the session is out of counters") from error


class Renewal40:
    """The next keys of one session, as far as they are agreed on."""

    __slots__ = ("_agreed", "_first", "_offered", "_schedule", "_secret", "_session", "phase")

    def __init__(self, session: Session40, schedule: Schedule40, first: Ephemeral40) -> None:
        self.phase = 0
        self._first = first
        self._session = session
        self._schedule = schedule
        self._secret: bytes | None = None  # of what we offered
        self._offered = b""
        self._agreed: Keys40 | None = None  # as a responder, until the initiator has shown them

    @property
    def is_met(self) -> bool:
        return self._session.opening_phase == self.phase

    def offer(self, random: RandomBytes) -> bytes:
        self._secret = random(x25519.KEY_SIZE)
        self._offered = x25519.public(self._secret)
        return self._offered

    def withdraw(self) -> None:
        self._secret = None

    def answer(self, offered: bytes, random: RandomBytes) -> bytes:
        secret = random(x25519.KEY_SIZE)
        answered = x25519.public(secret)
        keys = self._schedule.go_on(x25519.agree(secret, offered), offered, answered)
        self._agreed = keys
        self._session.expect(keys.receiving, self._schedule.phase)
        return answered

    def adopt(self, answered: bytes) -> None:
        secret = self._secret
        assert secret is not None
        if answered == self._offered:
            raise ProtocolError("the peer answered with our own ephemeral")
        keys = self._schedule.go_on(x25519.agree(secret, answered), self._offered, answered)
        self._secret = None
        self._session.expect(keys.receiving, self._schedule.phase)
        self._use(keys)

    def confirm(self) -> None:
        keys = self._agreed
        assert keys is not None
        if self._session.opening_phase != self._schedule.phase:
            raise ProtocolError("the peer confirms keys that it does not use")
        self._agreed = None
        self._use(keys)

    def retire(self, phase: int) -> None:
        self._session.retire(phase)

    def _use(self, keys: Keys40) -> None:
        self.phase = self._schedule.phase
        self._first.secret = None
        self._session.seal_under(keys, self.phase)


def _leap(random: RandomBytes) -> int:
    return _LEAP_MIN + (int.from_bytes(random(_LEAP_SIZE), "big") >> _LEAP_SHIFT)
