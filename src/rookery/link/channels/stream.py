"""`stream`: bytes in both directions over a reliable channel, or messages in three encodings.

    open     {"c", "type":"stream", "seq":1}     body: nothing, or a packet with the options
    piece    {"c", "seq", "frag":true}           body: part of a message, more follows
    last     {"c", "seq", "enc":"lob"}           body: its end; `enc` may be absent: binary
    end      {"c", "seq", "end":true}

A reader of bytes takes the bodies in order. A reader of messages joins the pieces and decodes them
by `enc` of the last one. A writer of bytes marks pieces as well, since the JavaScript peer
queues messages, and stops for good when sixteen wait at once.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from rookery.errors import DecodeError, ProtocolError, UsageError
from rookery.wire.link.lob import HEAD_SIZE_MAX, JsonObject, Packet

TYPE = "stream"
OPTIONS_SIZE_MAX = 1000  # the open packet must fit any path, before its size is known
MESSAGE_SIZE_MAX = 1 << 20
JOINED_SIZE = 1 << 13  # of a byte stream are one message: some peers count those, some their bytes

# What msgspec raises for a value that JSON cannot hold.
_ENCODE_ERRORS = (TypeError, ValueError, OverflowError, RecursionError)

Encoding = Literal["binary", "json", "lob"]


class JsonMessage(msgspec.Struct, frozen=True):
    """A message that is one JSON value, of any kind."""

    value: object


Content = bytes | JsonMessage | Packet


class StreamPiece(NamedTuple):
    """What one channel packet carries."""

    head: JsonObject
    body: bytes


def serialize_options(options: JsonObject | None) -> bytes:
    """The body of the open packet."""
    if options is None:
        return b""
    try:
        packet = Packet.of(options)
    except _ENCODE_ERRORS as error:
        raise UsageError(f"the options are not JSON: {error}") from error
    if len(packet.head) > OPTIONS_SIZE_MAX - 2:
        raise UsageError(f"the options exceed {OPTIONS_SIZE_MAX} bytes")
    return packet.serialize()


def parse_options(body: bytes) -> JsonObject:
    """The options of an open packet; peers that have none may send no body at all."""
    return Packet.parse(body).json if body else {}


def pieces(content: Content, size: int) -> Iterator[StreamPiece]:
    """Cut one message for packets with bodies of at most `size` bytes."""
    assert size > 0
    encoding, data = _encode(content)
    if len(data) > MESSAGE_SIZE_MAX:
        raise UsageError(f"a message of {len(data)} bytes exceeds {MESSAGE_SIZE_MAX}")
    # Plain packets are what every peer takes for binary; only an empty message must say it is one.
    last: JsonObject = {"enc": encoding} if encoding != "binary" or not data else {}
    cut = max(0, len(data) - 1) // size * size
    for start in range(0, cut, size):
        yield StreamPiece({"frag": True}, data[start : start + size])
    yield StreamPiece(last, data[cut:])


class MessageBoundaries:
    """Where, in a byte stream, one message ends and the next begins."""

    __slots__ = ("_size",)

    def __init__(self) -> None:
        self._size = 0

    def head(self, size: int, *, more: bool) -> JsonObject | None:
        """The head for the next `size` bytes, with `more` to follow at once."""
        self._size += size
        if more and self._size < JOINED_SIZE:
            return {"frag": True}
        self._size = 0
        return None


class StreamReassembler:
    """Joins pieces to messages, and never holds more than one message's worth."""

    def __init__(self, size_max: int = MESSAGE_SIZE_MAX) -> None:
        self._size_max = size_max
        self._pending = bytearray()

    def feed(self, head: JsonObject, body: bytes) -> Content | None:
        """Take one packet; the message if it was the last of one."""
        if len(self._pending) + len(body) > self._size_max:
            raise ProtocolError(f"a message exceeds {self._size_max} bytes")
        if head.get("frag") is True:
            self._pending += body
            return None
        if not body and not self._pending and "enc" not in head:
            return None  # a bare `end`, or a head that some other extension understands
        data = bytes(self._pending) + body if self._pending else body
        self._pending.clear()
        return _decode(head.get("enc", "binary"), data)

    def finish(self) -> None:
        """The peer ended: half a message is an error."""
        if self._pending:
            raise ProtocolError("the stream ended within a message")


def _encode(content: Content) -> tuple[Encoding, bytes]:
    match content:
        case JsonMessage(value):
            try:
                return "json", msgspec.json.encode(value)
            except _ENCODE_ERRORS as error:
                raise UsageError(f"the message is not JSON: {error}") from error
        case Packet(head):
            if len(head) > HEAD_SIZE_MAX:
                raise UsageError(f"a head of {len(head)} bytes exceeds {HEAD_SIZE_MAX}")
            return "lob", content.serialize()
        case _:
            return "binary", content


def _decode(encoding: object, data: bytes) -> Content:
    match encoding:
        case "binary":
            return data
        case "json":
            try:
                return JsonMessage(msgspec.json.decode(data))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise DecodeError("the message is not JSON") from error
        case "lob":
            return Packet.parse(data)
        case _:
            raise ProtocolError("unknown encoding of a stream message")
