"""Sealed TLV on a TCP connection: E3X in cipher set 40 or 2a, then nothing in the clear.

    dialler                                                  acceptor
       │ KEY     handshake, sealed to the acceptor's key        │
       │───────────────────────────────────────────────────────▶│ whom it claims to be
       │                      KEY     handshake, the same `at`  │
       │                      SEALED  empty                     │
       │ proved ◀───────────────────────────────────────────────│
       │ SEALED  empty, then what waited                        │
       │───────────────────────────────────────────────────────▶│ proved

    SEALED value  | counter | AEAD(a piece of the inner stream) |    counter: 0, 1, 2 …
                  | 8 or 12 |               n + 16              |

The inner stream is TLVs, one behind the other, cut anywhere; a piece may be empty.

Who does not know yet whether the acceptor takes 40 offers it inside of a handshake in 2a. Nobody
can take it out there without being noticed, and who is told that a peer takes 40 takes no less.

A handshake can be replayed, a sealed TLV cannot: its key comes from both ephemerals. So `peer`
is None until one has opened, and what is sent before that waits here. Any error ends the
stream for good; the caller closes the connection. docs/protocol/rendezvous.md is normative.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Self

from rookery.errors import (
    AuthenticationError,
    ProtocolError,
    RemoteError,
    UnreachableError,
    UsageError,
)
from rookery.identity.cipher_set import OpenedMessage, RandomBytes
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.cs40 import CSID as ROOKERY_CSID
from rookery.identity.identity import Identity
from rookery.link.session.exchange import Exchange, HandshakeVerdict
from rookery.link.session.handshake import Handshake
from rookery.wire.fleet import tags
from rookery.wire.fleet.tlv import HEAD_SIZE, VALUE_SIZE_MAX, Tlv, TlvReader, serialize
from rookery.wire.link.lob import Packet

STRANGER_SIZE_MAX = 2048  # of a value, as long as the peer is not proved
STREAM_CSIDS = (ROOKERY_CSID, RSA_CSID)  # the better one first
_COUNTER_SIZES = {ROOKERY_CSID: 8, RSA_CSID: 12}
_COUNT_MAX = 1 << 32  # values that one key seals
_INNER_SIZE_MAX = VALUE_SIZE_MAX - 12 - 16
_AT_MIN = 3  # above every `at` of an acceptor, odd or even


class SealedStream:
    """One end of a connection: bytes in, TLVs out, and the other way round."""

    def __init__(
        self,
        identity: Identity,
        random: RandomBytes,
        expected: str | None,
        insisted: Collection[str] = (),
    ) -> None:
        if not identity.local.keys() & set(STREAM_CSIDS):
            raise UsageError("this identity has no key of cipher set 40 or 2a")
        self._identity = identity
        self._random = random
        self._expected = expected  # hashname; None at an acceptor
        self._insisted = insisted  # hashnames
        self._begun: dict[int, Exchange] = {}  # what a dialler's handshakes began, by cipher set
        self._exchange: Exchange | None = None  # the one that both have chosen
        self._claimed: str | None = None  # what the handshake says, until a SEALED proves it
        self._received = 0
        self._sent = 0
        self._inner = TlvReader()
        self._buffer = bytearray()
        self._waiting: list[Tlv] = []
        self._out = bytearray()
        self._peer: str | None = None
        self._ended = False

    @classmethod
    def dial(
        cls,
        identity: Identity,
        hashname: str,
        keys: Mapping[int, bytes],
        now_ms: int,
        random: RandomBytes,
    ) -> Self:
        """Our end of a connection to `hashname`; DecodeError when a key of it cannot be one.

        `keys` are those that it may answer with, by cipher set: that of 40 alone insists on 40,
        both take 40 if the peer does, that of 2a alone is for who is known to have nothing else.
        """
        stream = cls(identity, random, hashname)
        shared = [csid for csid in STREAM_CSIDS if csid in keys and csid in identity.local]
        if not shared:
            raise UsageError("there is no cipher set that both ends can seal streams with")
        handshake = b""
        for csid in shared:
            exchange = stream._begin(csid, keys[csid], max(now_ms, _AT_MIN), handshake)
            stream._begun[csid] = exchange
            handshake = exchange.handshake()
        stream._out += serialize(tags.KEY, handshake)
        return stream

    @classmethod
    def accept(
        cls, identity: Identity, random: RandomBytes, insisted: Collection[str] = ()
    ) -> Self:
        """Our end of an incoming connection.

        Whose hashname is among those `insisted` on is known to take 40, and refused with less.
        """
        return cls(identity, random, None, insisted)

    @property
    def csid(self) -> int | None:
        """The cipher set that both ends have chosen, once the peer is proved."""
        return None if self._peer is None or self._exchange is None else self._exchange.csid

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
        is_dialler = self._expected is not None
        opened, handshake = self._read(value)
        if not is_dialler and handshake.offer and handshake.csid == RSA_CSID:
            opened, handshake = self._taken(handshake.offer) or (opened, handshake)
        csid, claimed = handshake.csid, handshake.hashname
        if self._expected is not None and claimed != self._expected:
            raise AuthenticationError(f"{claimed} answered in place of {self._expected}")
        if csid != ROOKERY_CSID and claimed in self._insisted:
            raise AuthenticationError(f"{claimed} takes cipher set 40, but this one came with less")
        exchange = self._begun[csid] if is_dialler else self._begin(csid, handshake.key, 1)
        verdict = exchange.receive(opened, handshake)
        if verdict is not (HandshakeVerdict.IN_SYNC if is_dialler else HandshakeVerdict.NEWER):
            raise ProtocolError("a handshake of another connection")
        self._exchange = exchange
        self._begun.clear()
        self._claimed = claimed
        if not is_dialler:
            self._out += serialize(tags.KEY, exchange.handshake())
            self._seal(b"")

    def _taken(self, offer: bytes) -> tuple[OpenedMessage, Handshake] | None:
        """The handshake to go on with in place of the one that offers it, if we can."""
        if ROOKERY_CSID not in self._identity.local:
            return None
        return self._read(offer, (ROOKERY_CSID,))

    def _read(
        self, value: bytes, csids: Collection[int] = STREAM_CSIDS
    ) -> tuple[OpenedMessage, Handshake]:
        """A handshake under one of these sets that we could have answered, or been answered, in."""
        packet = Packet.parse(value)
        csid = packet.head[0] if len(packet.head) == 1 else 0
        known = self._identity.local if self._expected is None else self._begun
        if csid not in csids or csid not in known:
            raise ProtocolError("a handshake under a cipher set that is not used here")
        opened = self._identity.local[csid].open(packet.body)
        return opened, Handshake.parse_inner(csid, opened.inner)

    def _open(self, value: bytes) -> list[Tlv]:
        exchange = self._exchange
        assert exchange is not None
        assert exchange.session is not None
        size = _COUNTER_SIZES[exchange.csid]
        if self._received == _COUNT_MAX or value[:size] != self._received.to_bytes(size, "big"):
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
        exchange = self._exchange
        assert exchange is not None
        assert exchange.session is not None
        assert exchange.peer_token is not None
        if self._sent == _COUNT_MAX:
            self._end()
            raise UnreachableError("the sealed stream is at the end of its keys")
        self._out += serialize(tags.SEALED, exchange.session.seal(exchange.peer_token, inner))
        self._sent += 1

    def _begin(self, csid: int, peer_key: bytes, at: int, offer: bytes = b"") -> Exchange:
        local, others = self._identity.local[csid], self._identity.intermediates(csid)
        return Exchange(local, others, peer_key, at=at, random=self._random, offer=offer)

    def _end(self) -> None:
        self._ended = True
        self._buffer.clear()
        self._waiting.clear()
        self._out.clear()
        self._exchange = None
        self._begun.clear()
