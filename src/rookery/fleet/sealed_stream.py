"""Sealed TLV on a TCP connection: E3X in cipher set 2a, then nothing in the clear.

    dialler                                                  acceptor
       │ KEY     handshake, sealed to the acceptor's key        │
       │───────────────────────────────────────────────────────▶│ whom it claims to be
       │                      KEY     handshake, the same `at`  │
       │                      SEALED  empty                     │
       │ proved ◀───────────────────────────────────────────────│
       │ SEALED  empty, then what waited                        │
       │───────────────────────────────────────────────────────▶│ proved

    SEALED value  | iv | AES-256-GCM(a piece of the inner stream) |    iv: 0, 1, 2 …
                  | 12 |                  n + 16                  |

The inner stream is TLVs, one behind the other, cut anywhere; a piece may be empty.

A handshake can be replayed, a sealed TLV cannot: its key comes from both ephemerals. So `peer`
is None until one has opened, and what is sent before that waits here. Any error ends the
stream for good; the caller closes the connection.
"""

from collections.abc import Iterable
from typing import Self

from rookery.errors import (
    AuthenticationError,
    ProtocolError,
    RemoteError,
    UnreachableError,
    UsageError,
)
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.identity import Identity
from rookery.link.session.exchange import Exchange, HandshakeVerdict
from rookery.link.session.handshake import Handshake
from rookery.wire.fleet import tags
from rookery.wire.fleet.tlv import HEAD_SIZE, VALUE_SIZE_MAX, Tlv, TlvReader, serialize
from rookery.wire.link.lob import Packet

STRANGER_SIZE_MAX = 2048  # of a value, as long as the peer is not proved
_IV_SIZE = 12
_INNER_SIZE_MAX = VALUE_SIZE_MAX - _IV_SIZE - 16
_HEAD = bytes([RSA_CSID])
_AT_MIN = 3  # above every `at` of an acceptor, odd or even


class SealedStream:
    """One end of a connection: bytes in, TLVs out, and the other way round."""

    def __init__(self, identity: Identity, random: RandomBytes, expected: str | None) -> None:
        if RSA_CSID not in identity.local:
            raise UsageError("this identity has no key of cipher set 2a")
        self._identity = identity
        self._random = random
        self._expected = expected  # hashname; None at an acceptor
        self._exchange: Exchange | None = None
        self._claimed: str | None = None  # what the handshake says, until a SEALED proves it
        self._received = 0
        self._inner = TlvReader()
        self._buffer = bytearray()
        self._waiting: list[Tlv] = []
        self._out = bytearray()
        self._peer: str | None = None
        self._ended = False

    @classmethod
    def dial(
        cls, identity: Identity, hashname: str, key2a: bytes, now_ms: int, random: RandomBytes
    ) -> Self:
        """Our end of a connection to `hashname`; DecodeError when `key2a` cannot be a key."""
        stream = cls(identity, random, hashname)
        exchange = stream._begin(key2a, max(now_ms, _AT_MIN))
        stream._exchange = exchange
        stream._out += serialize(tags.KEY, exchange.handshake())
        return stream

    @classmethod
    def accept(cls, identity: Identity, random: RandomBytes) -> Self:
        """Our end of an incoming connection."""
        return cls(identity, random, None)

    @property
    def peer(self) -> str | None:
        """The hashname of the other end, once it is proved."""
        return self._peer

    @property
    def is_open(self) -> bool:
        """Whether the peer is proved and nothing went wrong."""
        return self._peer is not None and not self._ended

    def send(self, *tlvs: Tlv) -> None:
        """Have these sent, in order; none at all makes an empty SEALED, a sign of life."""
        if self._ended:
            raise UnreachableError("the sealed stream has ended")
        if self._peer is None:
            self._waiting += tlvs
        else:
            self._seal_all(tlvs)

    def take(self) -> bytes:
        """What is to be written to the connection now; the caller owns it."""
        out = bytes(self._out)
        self._out.clear()
        return out

    def feed(self, data: bytes | memoryview) -> list[Tlv]:
        """What the peer said in these bytes; RemoteError ends the stream."""
        if self._ended:
            raise ProtocolError("the sealed stream has ended")
        self._buffer += data
        inner: list[Tlv] = []
        try:
            while (value := self._next_value()) is not None:
                if self._claimed is None:
                    self._shake_hands(value)
                else:
                    inner += self._open(value)
        except RemoteError:
            self._end()
            raise
        return inner

    def _next_value(self) -> bytes | None:
        """The value of the next TLV, which can be but one kind; None until it is complete."""
        buffer = self._buffer
        if len(buffer) < HEAD_SIZE:
            return None
        tag = int.from_bytes(buffer[:2], "big")
        size = int.from_bytes(buffer[2:HEAD_SIZE], "big")
        if tag != (tags.KEY if self._claimed is None else tags.SEALED):
            raise ProtocolError(f"tag {tag} is not what comes next on a sealed stream")
        if self._peer is None and size > STRANGER_SIZE_MAX:
            raise ProtocolError(f"{size} bytes from somebody who is not proved yet")
        if len(buffer) < HEAD_SIZE + size:
            return None
        value = bytes(buffer[HEAD_SIZE : HEAD_SIZE + size])
        del buffer[: HEAD_SIZE + size]
        return value

    def _shake_hands(self, value: bytes) -> None:
        packet = Packet.parse(value)
        if packet.head != _HEAD:
            raise ProtocolError("a handshake here is one of cipher set 2a")
        opened = self._identity.local[RSA_CSID].open(packet.body)
        handshake = Handshake.parse_inner(RSA_CSID, opened.inner)
        claimed = handshake.hashname
        if self._expected is not None and claimed != self._expected:
            raise AuthenticationError(f"{claimed} answered in place of {self._expected}")
        is_dialler = self._exchange is not None
        exchange = self._exchange or self._begin(handshake.key, 1)
        verdict = exchange.receive(opened, handshake)
        if verdict is not (HandshakeVerdict.IN_SYNC if is_dialler else HandshakeVerdict.NEWER):
            raise ProtocolError("a handshake of another connection")
        self._exchange = exchange
        self._claimed = claimed
        if not is_dialler:
            self._out += serialize(tags.KEY, exchange.handshake())
            self._seal(b"")

    def _open(self, value: bytes) -> list[Tlv]:
        exchange = self._exchange
        assert exchange is not None
        assert exchange.session is not None
        if value[:_IV_SIZE] != self._received.to_bytes(_IV_SIZE, "big"):
            raise AuthenticationError("a sealed value out of turn")
        inner = exchange.session.open(exchange.token, value)
        self._received += 1
        if self._peer is None:
            self._prove()
        return self._inner.feed(inner)

    def _prove(self) -> None:
        self._peer = self._claimed
        if self._expected is not None:
            self._seal(b"")  # on its own, as strangers are read in small pieces only
        if self._waiting:
            self._seal_all(self._waiting)
            self._waiting.clear()

    def _seal_all(self, tlvs: Iterable[Tlv]) -> None:
        """As few SEALED as hold them, and one if there is nothing to hold."""
        inner = b"".join([serialize(tlv.tag, tlv.value) for tlv in tlvs])
        for start in range(0, max(len(inner), 1), _INNER_SIZE_MAX):
            self._seal(inner[start : start + _INNER_SIZE_MAX])

    def _seal(self, inner: bytes) -> None:
        assert self._exchange is not None
        assert self._exchange.session is not None
        self._out += serialize(tags.SEALED, self._exchange.session.seal(b"", inner))

    def _begin(self, peer_key: bytes, at: int) -> Exchange:
        local = self._identity.local[RSA_CSID]
        intermediates = self._identity.intermediates(RSA_CSID)
        return Exchange(local, intermediates, peer_key, at=at, random=self._random)

    def _end(self) -> None:
        self._ended = True
        self._buffer.clear()
        self._waiting.clear()
        self._out.clear()
        self._exchange = None
