"""Framing: how packets lie in a stream of bytes, and how to tell which framing a peer chose.

    preface   → frames, between rookery endpoints
    "GET "    → HTTP, and a WebSocket after its upgrade (rookery.runtime.endpoint.gates.websocket)
    any other → Telehash chunks

All three are sans-IO: bytes in, packets out, and the other way round.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final, Protocol

from rookery.wire.link.chunking import Dechunker, chunk
from rookery.wire.link.framing import (
    FRAME_SIZE_MAX,
    KEEPALIVE,
    PREFACE,
    Deframer,
    SpareBuffer,
    frame,
)
from rookery.wire.octets import Octets

PACKET_SIZE_MAX: Final = FRAME_SIZE_MAX

_HTTP: Final = b"GET "
_HANDSHAKE_40: Final = b"\x00\x01\x40"
_COPY_SIZE_MAX: Final = 4096  # one buffer is cheaper than two up to about here


class Framing(Protocol):
    """The state of one stream, both ways."""

    @property
    def ready(self) -> bool:
        """Packets may be encoded."""

    @property
    def finished(self) -> bool:
        """Nothing more will come: close once `control` is written."""

    @property
    def is_public(self) -> bool:
        """The peer is not one of ours."""

    def feed(self, data: Octets) -> Sequence[bytes | memoryview]:
        """The packets that `data` completes; DecodeError when it makes no sense."""

    def room(self) -> memoryview | None:
        """Where to read to, if it matters: what comes is then `placed`, not fed."""

    def placed(self, count: int) -> Sequence[bytes | memoryview]:
        """The packets that so many bytes complete, which were read to `room`."""

    def encode(self, packet: Octets) -> tuple[Octets, ...]:
        """The buffers to write for one packet."""

    def control(self) -> bytes:
        """What the framing itself has to say since last asked."""


class ChunkFraming:
    """Telehash chunking."""

    ready = True
    finished = False
    is_public = True

    def __init__(self) -> None:
        self._dechunker = Dechunker(PACKET_SIZE_MAX)

    def feed(self, data: Octets) -> Sequence[bytes | memoryview]:
        return self._dechunker.feed(bytes(data))

    def room(self) -> memoryview | None:
        return None

    def placed(self, count: int) -> Sequence[bytes | memoryview]:
        raise AssertionError("nothing was placed")

    def encode(self, packet: Octets) -> tuple[Octets, ...]:
        return (chunk(bytes(packet)),)

    def control(self) -> bytes:
        return b""


class LengthFraming:
    """Length-prefixed frames; the side that dials opens with the preface."""

    ready = True
    finished = False
    is_public = False

    def __init__(self, opening: bytes = b"", spare: SpareBuffer | None = None) -> None:
        self._deframer = Deframer(spare)
        self._opening = opening

    def feed(self, data: Octets) -> Sequence[bytes | memoryview]:
        return self._deframer.feed(data)

    def room(self) -> memoryview | None:
        return self._deframer.room()

    def placed(self, count: int) -> Sequence[bytes | memoryview]:
        return self._deframer.placed(count)

    def encode(self, packet: Octets) -> tuple[Octets, ...]:
        if len(packet) <= _COPY_SIZE_MAX:
            return (frame(packet if isinstance(packet, bytes) else bytes(packet)),)
        return len(packet).to_bytes(len(KEEPALIVE), "big"), packet

    def control(self) -> bytes:
        opening, self._opening = self._opening, b""
        return opening


class FramingKind(Enum):
    FRAMES = auto()
    HTTP = auto()
    CHUNKS = auto()


def recognise(first: bytes) -> FramingKind | None:
    """What a dialling peer speaks, by its first bytes; None while they are too few to tell."""
    if first.startswith(PREFACE):
        return FramingKind.FRAMES
    if first.startswith(_HTTP):
        return FramingKind.HTTP
    if PREFACE.startswith(first) or _HTTP.startswith(first):
        return None
    return FramingKind.CHUNKS


class AcceptedFraming:
    """The stream of a peer that dialled us: speaks as the peer does, once that is clear."""

    def __init__(self, http: Callable[[], Framing], spare: SpareBuffer | None = None) -> None:
        self.dialect: FramingKind | None = None
        self._spare = spare
        self._http = http
        self._first = b""
        self._framing: Framing = ChunkFraming()

    @property
    def ready(self) -> bool:
        return self.dialect is not None and self._framing.ready

    @property
    def finished(self) -> bool:
        return self._framing.finished

    @property
    def is_public(self) -> bool:
        return self._framing.is_public

    def feed(self, data: Octets) -> Sequence[bytes | memoryview]:
        if self.dialect is None:
            data = self._first + bytes(data)
            self.dialect = recognise(data)
            match self.dialect:
                case None:
                    self._first = data
                    return []
                case FramingKind.FRAMES:
                    self._framing = LengthFraming(spare=self._spare)
                    data = data[len(PREFACE) :]
                case FramingKind.HTTP:
                    self._framing = self._http()
        return self._framing.feed(data)

    def room(self) -> memoryview | None:
        return self._framing.room()

    def placed(self, count: int) -> Sequence[bytes | memoryview]:
        return self._framing.placed(count)

    def encode(self, packet: Octets) -> tuple[Octets, ...]:
        return self._framing.encode(packet)

    def control(self) -> bytes:
        return self._framing.control()


def dialled(first_packet: Octets, spare: SpareBuffer | None = None) -> Framing:
    """How to speak to the peer that this packet opens a connection to.

    Only a rookery endpoint understands a handshake of cipher set 40, so it understands frames.
    """
    if first_packet[: len(_HANDSHAKE_40)] == _HANDSHAKE_40:
        return LengthFraming(PREFACE, spare)
    return ChunkFraming()
