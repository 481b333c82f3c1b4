"""Frames of an outbox session: who is there, requests, and what became of them.

    | length | type | fields … |        length: of type and fields
    |   4    |  1   |          |

    INTRODUCTION     | 1 | version 1 | hashname 32 | epoch 8 | memory 8 | heard 8 | handled 8 |
                     | requests 4 | bytes 4 |
    REQUEST          | 2 | flags 1 | id 8 | floor 8 | payload |
    ACKNOWLEDGEMENT  | 3 | id 8 |
    REPLY            | 4 | id 8 | payload |
    ERROR            | 5 | id 8 | code 1 | text |        id 0: the session itself is over

Sizes in bytes, integers big-endian. Bits 0 and 1 of `flags` are the QoS, bit 2 asks for a reply.
"""

from enum import IntEnum
from struct import Struct

import msgspec

from rookery.errors import DecodeError

VERSION = 1
PAYLOAD_SIZE_MAX = 1 << 20
TEXT_SIZE_MAX = 1024
HASHNAME_SIZE = 32
FRAME_SIZE_MAX = PAYLOAD_SIZE_MAX + 32  # without the length
LENGTH_SIZE = 4
ID_MAX = 2**63 - 1

INTRODUCTION, REQUEST, ACKNOWLEDGEMENT, REPLY, ERROR = 1, 2, 3, 4, 5

_INTRODUCTION = Struct(">IBB32sQQQQII")
_REQUEST = Struct(">IBBQQ")
_ACKNOWLEDGEMENT = Struct(">IBQ")
_REPLY = Struct(">IBQ")
_ERROR = Struct(">IBQB")

REQUEST_HEADER_SIZE = _REQUEST.size

_QOS_MASK = 3
_WANTS_REPLY = 4


class Qos(IntEnum):
    """What is promised about a request that was written when its session was lost."""

    ONCE_AT_MOST = 0  # never written again: its fate is unknown
    ONCE_AT_LEAST = 1  # written again, perhaps handled twice
    ONCE = 2  # written again, and recognised there


class ErrorCode(IntEnum):
    """Why a session or a request failed; below 16 the session."""

    VERSION = 1
    PROTOCOL = 2
    UNKNOWN_PEER = 3
    SUPERSEDED = 4  # by a newer session
    UNHANDLED = 16  # nobody handles requests there
    HANDLER_FAILED = 17
    FORGOTTEN = 18  # handled before, but the reply is not kept any more


class Introduction(msgspec.Struct, frozen=True, gc=False):
    """The first frame, both ways."""

    hashname: bytes  # the 32 bytes that the 52 characters stand for
    epoch: int  # names the numbering of our requests
    memory: int  # names what we remember of yours
    heard: int  # the epoch of yours that we know
    handled: int  # what of it needs no repeating: acknowledges as an acknowledgement does
    requests_max: int  # so many unacknowledged ones we take
    bytes_max: int  # and so much payload in them
    version: int = VERSION

    def serialize(self) -> bytes:
        return _INTRODUCTION.pack(
            _INTRODUCTION.size - LENGTH_SIZE,
            INTRODUCTION,
            self.version,
            self.hashname,
            self.epoch,
            self.memory,
            self.heard,
            self.handled,
            self.requests_max,
            self.bytes_max,
        )


class RequestFrame(msgspec.Struct, frozen=True, gc=False):
    """One request; `floor`: no reply below this id is asked for again."""

    id: int
    qos: Qos
    wants_reply: bool
    floor: int
    payload: bytes

    def serialize(self) -> bytes:
        size = len(self.payload)
        head = request_header(self.id, self.qos, self.floor, size, self.wants_reply)
        return head + self.payload


class Acknowledgement(msgspec.Struct, frozen=True, gc=False):
    """Everything up to this id that needed no reply was handled."""

    id: int

    def serialize(self) -> bytes:
        return _ACKNOWLEDGEMENT.pack(9, ACKNOWLEDGEMENT, self.id)


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The answer to one request, and an acknowledgement of those before it."""

    id: int
    payload: bytes

    def serialize(self) -> bytes:
        return _REPLY.pack(9 + len(self.payload), REPLY, self.id) + self.payload


class ErrorFrame(msgspec.Struct, frozen=True, gc=False):
    """A request that failed there (and an acknowledgement as above), or with id 0 the session."""

    id: int
    code: int  # one that we do not know is an error all the same
    text: str

    def serialize(self) -> bytes:
        text = self.text.encode()[:TEXT_SIZE_MAX].decode(errors="ignore").encode()
        return _ERROR.pack(10 + len(text), ERROR, self.id, self.code) + text


Frame = Introduction | RequestFrame | Acknowledgement | Reply | ErrorFrame


def request_header(id_: int, qos: int, floor: int, size: int, wants_reply: bool) -> bytes:
    """What stands before the payload, so that it is copied only once, into the chunk."""
    flags = qos | _WANTS_REPLY if wants_reply else qos
    return _REQUEST.pack(REQUEST_HEADER_SIZE - LENGTH_SIZE + size, REQUEST, flags, id_, floor)


def parse_frame(data: bytes) -> Frame:
    """Read exactly one frame, its length included, or raise DecodeError."""
    if len(data) <= LENGTH_SIZE or int.from_bytes(data[:LENGTH_SIZE], "big") != len(data) - 4:
        raise DecodeError("a frame that is not as long as it says")
    kind = data[LENGTH_SIZE]
    if kind == REQUEST:
        return parse_request(data, 0, len(data))
    if kind == ACKNOWLEDGEMENT:
        if len(data) != _ACKNOWLEDGEMENT.size:
            raise DecodeError("not an acknowledgement")
        return Acknowledgement(_checked(_ACKNOWLEDGEMENT.unpack(data)[2]))
    if kind == REPLY:
        if len(data) < _REPLY.size:
            raise DecodeError("too short for a reply")
        return Reply(_checked(_REPLY.unpack_from(data)[2]), data[_REPLY.size :])
    if kind == ERROR:
        return _parse_error(data)
    if kind == INTRODUCTION:
        return _parse_introduction(data)
    raise DecodeError(f"no frame has type {kind}")


def parse_request(data: bytes, start: int, stop: int) -> RequestFrame:
    """One that lies there, its length included and checked."""
    size = stop - start
    if not REQUEST_HEADER_SIZE <= size <= REQUEST_HEADER_SIZE + PAYLOAD_SIZE_MAX:
        raise DecodeError("too short or too long for a request")
    _, _, flags, id_, floor = _REQUEST.unpack_from(data, start)
    qos = flags & _QOS_MASK
    if flags > _QOS_MASK + _WANTS_REPLY or qos > _QOS_MAX:
        raise DecodeError(f"no request has flags {flags:#x}")
    if not 0 < floor <= id_ <= ID_MAX:
        raise DecodeError("a request below its own floor, or with an impossible id")
    payload = data[start + REQUEST_HEADER_SIZE : stop]
    return RequestFrame(id_, _QOS[qos], flags > _QOS_MASK, floor, payload)


_QOS = tuple(Qos)
_QOS_MAX = len(_QOS) - 1


def _parse_error(data: bytes) -> ErrorFrame:
    if not _ERROR.size <= len(data) <= _ERROR.size + TEXT_SIZE_MAX:
        raise DecodeError("not an error")
    _, _, id_, code = _ERROR.unpack_from(data)
    try:
        return ErrorFrame(id_, code, data[_ERROR.size :].decode())
    except UnicodeDecodeError as error:
        raise DecodeError("an error whose text is no UTF-8") from error


def _parse_introduction(data: bytes) -> Introduction:
    # Another version may have other fields behind these; who reads the version decides.
    if len(data) < _INTRODUCTION.size:
        raise DecodeError("too short for an introduction")
    _, _, version, *fields, requests, size = _INTRODUCTION.unpack_from(data)
    if version == VERSION and len(data) > _INTRODUCTION.size:
        raise DecodeError("too long for an introduction")
    if not requests or not size:
        raise DecodeError("an introduction that takes no requests")
    hashname, epoch, memory, heard, handled = fields
    return Introduction(hashname, epoch, memory, heard, handled, requests, size, version)


def _checked(id_: int) -> int:
    if not id_:
        raise DecodeError("no request has the id 0")
    return id_
