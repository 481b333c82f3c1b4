"""`box`: messages left with a third endpoint for a recipient who is offline.

    outbox {"to":hashname}                 sender → keeper     body … {"done":true,"x"?:seconds}
    boxes  {} body: 8-byte box ids         keeper → recipient  what is waiting (up to 120 a packet)
    inbox  {"box":16 hex}                  recipient → keeper  back: body … {"done":true} … {"cap"}
           {"id":16 hex} / {"clear":true}  either asker        forget one message / all of them

    box id     = sip(sender's hashname, recipient's 32 bytes)
    message id = sip(box id twice, message)

The keeper does not reveal whether it has room, a box or a message: a client learns only what was
meant for him. Sealed content is `box_seal`'s affair, the keeper sees bytes.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from rookery.errors import DecodeError, ProtocolError, UsageError
from rookery.identity.hashname import is_hashname
from rookery.link.channels.message_id import ID_SIZE, digest
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject, integer, text
from rookery.wire.siphash import siphash_js

MESSAGE_SIZE_MAX = 1 << 16
BOXES_PER_PACKET_MAX = 120

_HEX = re.compile(r"[0-9a-f]{16}", re.ASCII)


def box_id(sender: str, recipient: str) -> bytes:
    return digest(sender, base32.decode(recipient))


def message_id(box: bytes, message: bytes) -> bytes:
    return siphash_js(box + box, message)


class OutboxOpening(msgspec.Struct, frozen=True):
    """The opening of a channel that leaves messages for `to`."""

    to: str

    def head(self) -> JsonObject:
        return {"to": self.to}

    @classmethod
    def parse(cls, head: JsonObject) -> "OutboxOpening":
        to = text(head, "to")
        if to is None or not is_hashname(to):
            raise DecodeError("invalid recipient")
        return cls(to)


class InboxOpening(msgspec.Struct, frozen=True):
    """The opening of a channel that fetches the messages of one box."""

    box: bytes

    def head(self) -> JsonObject:
        return {"box": self.box.hex()}

    @classmethod
    def parse(cls, head: JsonObject) -> "InboxOpening":
        return cls(_hex_id(head, "box"))


class BoxMessageArrived(msgspec.Struct, frozen=True):
    """A whole message."""

    message: bytes
    lifetime_s: int | None


class ForgetBoxMessage(msgspec.Struct, frozen=True):
    """Drop one message."""

    id: bytes


class ClearBox(msgspec.Struct, frozen=True):
    """Drop all messages of the box."""


Command = BoxMessageArrived | ForgetBoxMessage | ClearBox


def forget_head(id_: bytes) -> JsonObject:
    return {"id": id_.hex()}


def clear_head() -> JsonObject:
    return {"clear": True}


class BoxPiece(msgspec.Struct, frozen=True):
    """What one channel packet carries."""

    head: JsonObject
    body: bytes


def pieces(message: bytes, size: int, lifetime_s: int | None = None) -> Iterator[BoxPiece]:
    """Cut one message for packets with bodies of at most `size` bytes."""
    assert size > 0
    if not 0 < len(message) <= MESSAGE_SIZE_MAX:
        raise UsageError(f"a box message has 1 to {MESSAGE_SIZE_MAX} bytes, not {len(message)}")
    if lifetime_s is not None and lifetime_s < 1:
        raise UsageError("a box message lives at least a second")
    last: JsonObject = {"done": True} if lifetime_s is None else {"done": True, "x": lifetime_s}
    cut = (len(message) - 1) // size * size
    for start in range(0, cut, size):
        yield BoxPiece({}, message[start : start + size])
    yield BoxPiece(last, message[cut:])


class CommandReader:
    """Reads the packets of an `outbox` or `inbox` channel after the opening."""

    def __init__(self, size_max: int = MESSAGE_SIZE_MAX) -> None:
        self._size_max = size_max
        self._pending = bytearray()

    def feed(self, head: JsonObject, body: bytes) -> list[Command]:
        """The commands of this packet; `clear` comes before the message in the same packet."""
        commands: list[Command] = [ClearBox()] if head.get("clear") is True else []
        if len(self._pending) + len(body) > self._size_max:
            raise ProtocolError(f"a message exceeds {self._size_max} bytes")
        self._pending += body
        if head.get("done") is True and self._pending:
            lifetime_s = integer(head, "x")
            if lifetime_s is not None and lifetime_s < 1:
                raise DecodeError("a message that lives no time")
            commands.append(BoxMessageArrived(bytes(self._pending), lifetime_s))
            self._pending.clear()
        elif "id" in head and not body:
            commands.append(ForgetBoxMessage(_hex_id(head, "id")))
        return commands


def serialize_boxes(boxes: Sequence[bytes]) -> list[bytes]:
    """The bodies of the packets that list `boxes`; one empty body when there are none."""
    step = BOXES_PER_PACKET_MAX
    starts = range(0, max(1, len(boxes)), step)
    return [b"".join(boxes[start : start + step]) for start in starts]


def parse_boxes(body: bytes) -> list[bytes]:
    if len(body) % ID_SIZE or len(body) > BOXES_PER_PACKET_MAX * ID_SIZE:
        raise DecodeError(f"{len(body)} bytes are not a list of box ids")
    return [body[start : start + ID_SIZE] for start in range(0, len(body), ID_SIZE)]


def parse_box_id(hex_text: str) -> bytes:
    """A box or message id as people write it, or UsageError."""
    if not _HEX.fullmatch(hex_text):
        raise UsageError(f"{hex_text!r} is not an id of 16 hexadecimal digits")
    return bytes.fromhex(hex_text)


def _hex_id(head: JsonObject, key: str) -> bytes:
    value = text(head, key)
    if value is None or not _HEX.fullmatch(value):
        raise DecodeError(f"{key} is not 16 hexadecimal digits")
    return bytes.fromhex(value)
