"""What every cipher set offers to the layers above; one module per set implements it.

    KeyPair ─load─▶ LocalKey ─exchange(peer key)─▶ MessageCipher ─session─▶ CipherSession
     bytes            ours                            per peer             per ephemeral

A *message* is asynchronous and proves its sender by static keys (handshakes are messages); a
*session* is symmetric, from both ephemerals. Randomness comes in as a function, so a simulated
world replays; RSA and OAEP alone draw from the system.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from rookery.wire.octets import Octets, Parts

RandomBytes = Callable[[int], bytes]

TOKEN_SIZE: Final = 16


class KeyPair(msgspec.Struct, frozen=True):
    """The public and secret bytes of one cipher set, as stored."""

    key: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"KeyPair(key={self.key.hex()[:16]}…)"


class OpenedMessage(msgspec.Struct, frozen=True):
    """A message that decrypted; its sender is not proved until `LocalKey.verify` passed."""

    inner: bytes
    body: bytes  # as received, for the proof
    ephemeral: bytes  # the sender's, in the cipher set's own form
    proof: bytes  # MAC or signature, in the cipher set's own form

    def __repr__(self) -> str:
        return f"OpenedMessage({len(self.inner)} bytes)"


class CipherSession(Protocol):
    """Seals and opens channel packets: everything after the routing token."""

    @property
    def replay_proof(self) -> bool:
        """Whether `open` refuses a packet it has already opened."""
        ...

    @property
    def renewal(self) -> "KeyRenewal | None":
        """How its keys are renewed; None where this set, or one of the two ends, cannot."""
        ...

    def leap(self, random: RandomBytes) -> None:
        """Number packets on from far ahead: a copy of this session may have used the next ones.

        Without effect in sets whose packets carry no counter that may have gaps.
        """
        ...

    def rest(self) -> None:
        """Let go of what can be made anew; the next packet costs a little more."""
        ...

    def seal(self, token: bytes, inner: bytes, prefix: bytes = b"") -> bytes:
        """The sealed packet behind a prefix, which large packets need not be copied for."""
        ...

    def seal_parts(self, token: bytes, parts: Parts, prefix: bytes) -> bytes | bytearray:
        """The same for an inner packet in parts, which large ones need not be joined for."""
        ...

    def open(self, token: bytes, part: Octets) -> bytes:
        """The inner packet, or AuthenticationError (also for a replay) or DecodeError."""
        ...


class KeyRenewal(Protocol):
    """New keys for a session by fresh ephemerals; `link.session.renewal` decides when.

    The initiator calls `offer`, then `adopt`; the responder `answer`, then `confirm`.
    """

    @property
    def phase(self) -> int:
        """Which keys packets are sealed under: 0 are those of the handshake."""
        ...

    @property
    def is_met(self) -> bool:
        """Whether the peer has been seen to use the keys of this phase, too."""
        ...

    def offer(self, random: RandomBytes) -> bytes:
        """A fresh ephemeral for the keys of the next phase."""
        ...

    def withdraw(self) -> None:
        """Drop the ephemeral that was offered."""
        ...

    def answer(self, offered: bytes, random: RandomBytes) -> bytes:
        """Our ephemeral for the peer's; from now on packets of the next phase are opened, too.

        DecodeError when the peer's cannot be one.
        """
        ...

    def adopt(self, answered: bytes) -> None:
        """The peer's ephemeral for ours: seal under the new keys; DecodeError as in `answer`."""
        ...

    def confirm(self) -> None:
        """The peer uses the new keys: so do we; ProtocolError when none of its packets showed."""
        ...

    def retire(self, phase: int) -> None:
        """Forget the keys of this phase and of all before it."""
        ...


class MessageCipher(Protocol):
    """Our ephemeral towards one peer: its messages all share one routing token."""

    @property
    def token(self) -> bytes: ...

    def seal(self, inner: bytes) -> bytes:
        """The body of a message for the peer."""
        ...

    def session(self, opened: OpenedMessage) -> CipherSession:
        """Channel keys from our ephemeral and that of the peer's verified message."""
        ...


class LocalKey(Protocol):
    """One of our static key pairs, ready for use."""

    @property
    def csid(self) -> int: ...

    @property
    def key(self) -> bytes: ...

    def open(self, body: bytes) -> OpenedMessage:
        """Decrypt a message for us, or raise DecodeError or AuthenticationError."""
        ...

    def verify(self, opened: OpenedMessage, peer_key: bytes) -> None:
        """Raise AuthenticationError unless the holder of `peer_key` made the message."""
        ...

    def exchange(self, peer_key: bytes, random: RandomBytes) -> MessageCipher:
        """A fresh ephemeral towards the peer; DecodeError when its key is malformed."""
        ...


class CipherSet(Protocol):
    """The entry of one cipher set in the table of `identity.cipher_sets`."""

    @property
    def csid(self) -> int: ...

    def generate(self, random: RandomBytes) -> KeyPair: ...

    def load(self, pair: KeyPair) -> LocalKey:
        """Check that the two halves belong together, or raise DecodeError."""
        ...

    def check_key(self, key: bytes) -> None:
        """Raise DecodeError unless `key` could be a public key of this set."""
        ...


def routing_token(message_body: bytes) -> bytes:
    """The token a message's sender listens to for channel packets."""
    return sha256(message_body[:TOKEN_SIZE]).digest()[:TOKEN_SIZE]
