"""Request frame of an outbox session, of which there are more than of all others together.

    | length 4 | 2 | flags 1 | id 8 | floor 8 | payload |

rookery.wire.outbox.frames has the other frames and describes the fields.
"""

from struct import Struct
from typing import Final

from rookery.errors import DecodeError
from rookery.wire.outbox.frames import ID_MAX, LENGTH_SIZE, PAYLOAD_SIZE_MAX, REQUEST, Qos

_LAYOUT: Final = Struct(">IBBQQ")
_unpack: Final = _LAYOUT.unpack_from
_pack: Final = _LAYOUT.pack
REQUEST_HEADER_SIZE: Final = 22

_QOS_MASK: Final = 3
_WANTS_REPLY: Final = 4
_QOS: Final = tuple(Qos)
_QOS_MAX: Final = 2


class RequestFrame:
    """One request; `floor`: no reply below this id is needed again."""

    __slots__ = ("floor", "id", "payload", "qos", "wants_reply")

    def __init__(self, id: int, qos: Qos, wants_reply: bool, floor: int, payload: bytes) -> None:  # noqa: A002
        self.id: Final = id
        self.qos: Final = qos
        self.wants_reply: Final = wants_reply
        self.floor: Final = floor
        self.payload: Final = payload

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RequestFrame) and self.serialize() == other.serialize()

    def __hash__(self) -> int:
        return hash(self.serialize())

    def __repr__(self) -> str:
        return f"RequestFrame({self.id}, {self.qos!r}, {self.wants_reply}, {self.floor}, …)"

    def serialize(self) -> bytes:
        size = len(self.payload)
        head = request_header(self.id, self.qos, self.floor, size, self.wants_reply)
        return head + self.payload


def request_header(id_: int, qos: int, floor: int, size: int, wants_reply: bool) -> bytes:
    """What stands before the payload, so that it is copied only once, into the chunk."""
    flags = qos | _WANTS_REPLY if wants_reply else qos
    return _pack(REQUEST_HEADER_SIZE - LENGTH_SIZE + size, REQUEST, flags, id_, floor)


def parse_request(data: bytes, start: int, stop: int) -> RequestFrame:
    """One that lies there, its length included and checked."""
    size = stop - start
    if not REQUEST_HEADER_SIZE <= size <= REQUEST_HEADER_SIZE + PAYLOAD_SIZE_MAX:
        raise DecodeError("too short or too long for a request")
    _, _, flags, id_, floor = _unpack(data, start)
    qos = flags & _QOS_MASK
    if flags > _QOS_MASK + _WANTS_REPLY or qos > _QOS_MAX:
        raise DecodeError(f"no request has flags {flags:#x}")
    if not 0 < floor <= id_ <= ID_MAX:
        raise DecodeError("a request below its own floor, or with an impossible id")
    payload = data[start + REQUEST_HEADER_SIZE : stop]
    return RequestFrame(id_, _QOS[qos], flags > _QOS_MASK, floor, payload)
