"""One exchange: our ephemeral and `at` towards one peer, and the session they agree on.

`at` is a number that both sides end up sharing. Each side originates values of its own parity
(the larger key is odd), the other echoes them. What a verified handshake with value A does while
ours is M:

    | A     | ephemeral | then                                                        |
    |-------|-----------|-------------------------------------------------------------|
    | A > M | any       | refused unless A has the peer's parity; M = A, answer A     |
    | A = M | known     | in sync                                                     |
    | A = M | new       | accepted only if M is newer than all the old one confirmed  |
    | A < M | any       | stale: nothing changes, answer with ours                    |

So a replayed handshake can never bring an old ephemeral back, and a peer that lost its clock
gets in by echoing a value we have just made.
"""

from collections.abc import Mapping
from enum import Enum, auto

from rookery.errors import AuthenticationError, DecodeError, ProtocolError
from rookery.identity.cipher_set import (
    TOKEN_SIZE,
    CipherSession,
    LocalKey,
    OpenedMessage,
    RandomBytes,
    routing_token,
)
from rookery.link.session.handshake import Handshake
from rookery.wire.link.lob import NO_HEAD, Packet
from rookery.wire.octets import Octets, Parts, tail


class HandshakeVerdict(Enum):
    """What a handshake meant for the exchange."""

    IN_SYNC = auto()  # confirms what we have
    NEWER = auto()  # the peer began a round: answer it
    STALE = auto()  # older than what we have: answer with ours, learn nothing


class Exchange:
    """Keys, tokens and `at` of one link."""

    __slots__ = (
        "_cipher",
        "_confirmed",
        "_handshake",
        "_intermediates",
        "_local",
        "_offer",
        "_open",
        "_peer_key",
        "_prefix",
        "_random",
        "_seal",
        "at",
        "peer_token",
        "session",
        "token",
    )

    def __init__(
        self,
        local: LocalKey,
        intermediates: Mapping[int, bytes],
        peer_key: bytes,
        *,
        at: int,
        random: RandomBytes,
        confirmed: int = 0,
        offer: bytes = b"",
    ) -> None:
        """`offer` goes with our handshakes, for a peer that may know more than this set."""
        self._local = local
        self._intermediates = intermediates
        self._peer_key = peer_key
        self._offer = offer
        self._random = random
        self._cipher = local.exchange(peer_key, random)
        self._confirmed = confirmed  # highest `at` the peer's current ephemeral has shown
        self._handshake: bytes | None = None
        self.token = self._cipher.token
        self.peer_token: bytes | None = None
        self.session: CipherSession | None = None
        self.at = 0
        self.originate(at)

    @property
    def csid(self) -> int:
        return self._local.csid

    @property
    def parity(self) -> int:
        """1 (odd) for the side with the larger key, 0 (even) for the other."""
        return int(self._local.key > self._peer_key)

    @property
    def confirmed(self) -> int:
        return self._confirmed

    @property
    def is_synchronised(self) -> bool:
        """Whether the peer has shown the current `at`."""
        return self.session is not None and self._confirmed == self.at

    def originate(self, at: int) -> None:
        """Begin a round: the next value of our parity, not below `at`."""
        value = max(at, self.at + 1)
        self._adopt(value + (value & 1 != self.parity))

    def handshake(self) -> bytes:
        """The packet to send; the same bytes until `at` moves or `seal_anew`."""
        if self._handshake is None:
            ours = Handshake(self.csid, self._local.key, self._intermediates, self.at, self._offer)
            body = self._cipher.seal(ours.inner())
            self._handshake = Packet(bytes([self.csid]), body).serialize()
        return self._handshake

    def seal_anew(self) -> None:
        """Have the next `handshake` say the same in other bytes."""
        self._handshake = None

    def receive(self, opened: OpenedMessage, handshake: Handshake) -> HandshakeVerdict:
        """Apply a message that decrypted; raises unless it proves itself and obeys the rules."""
        self._local.verify(opened, self._peer_key)
        at, token = handshake.at, routing_token(opened.body)
        assert at is not None
        if at > self.at:
            if at & 1 == self.parity:
                raise ProtocolError("`at` of our own parity that we never made")
            self._agree(opened, token, at)
            self._adopt(at)
            return HandshakeVerdict.NEWER
        is_new = token != self.peer_token
        if at < self.at or (is_new and at <= self._confirmed):
            return HandshakeVerdict.STALE
        self._agree(opened, token, at)
        return HandshakeVerdict.IN_SYNC

    def seal(self, inner: bytes) -> bytes:
        """A channel packet for the peer."""
        assert self.peer_token is not None
        return self._seal(self.peer_token, inner, self._prefix)

    def seal_parts(self, parts: Parts) -> bytes | bytearray:
        """The same for what is not in one piece yet."""
        assert self.session is not None
        assert self.peer_token is not None
        return self.session.seal_parts(self.peer_token, parts, self._prefix)

    def open(self, body: Octets) -> bytes:
        """The inner packet of a channel packet whose token is ours."""
        if self.session is None:
            raise ProtocolError("channel packet before the handshake")
        return self._open(self.token, tail(body, TOKEN_SIZE))

    def _adopt(self, at: int) -> None:
        self.at = at
        self._handshake = None

    def _agree(self, opened: OpenedMessage, token: bytes, at: int) -> None:
        if token != self.peer_token:
            cipher = self._cipher
            renewal = self.session.renewal if self.session is not None else None
            if renewal is not None and renewal.phase > 0:
                # The secret of our ephemeral is forgotten, as it could tell the first keys.
                cipher = self._local.exchange(self._peer_key, self._random)
            try:
                session = cipher.session(opened)
            except DecodeError as error:
                raise AuthenticationError("the peer's ephemeral is not a key") from error
            if cipher is not self._cipher:
                self._cipher, self.token, self._handshake = cipher, cipher.token, None
            self.session = session
            self.peer_token = token
            self._seal, self._open = session.seal, session.open
            self._prefix = NO_HEAD + token
        self._confirmed = at
