"""Frames of an outbox session: introductions, requests, and their outcomes.

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
from typing import Final

import msgspec

VERSION: Final = 1
PAYLOAD_SIZE_MAX: Final = 1 << 20
TEXT_SIZE_MAX: Final = 1024
HASHNAME_SIZE: Final = 32
FRAME_SIZE_MAX: Final = PAYLOAD_SIZE_MAX + 32  # without the length
LENGTH_SIZE: Final = 4
ID_MAX: Final = 2**63 - 1

INTRODUCTION: Final = 1
REQUEST: Final = 2
ACKNOWLEDGEMENT: Final = 3
REPLY: Final = 4
ERROR: Final = 5

INTRODUCTION_LAYOUT: Final = Struct(">IBB32sQQQQII")
ACKNOWLEDGEMENT_LAYOUT: Final = Struct(">IBQ")
REPLY_LAYOUT: Final = Struct(">IBQ")
ERROR_LAYOUT: Final = Struct(">IBQB")


class Qos(IntEnum):
    """What is promised about a request that was written when its session was lost."""

    ONCE_AT_MOST = 0  # never written again: its fate is unknown
    ONCE_AT_LEAST = 1  # written again, perhaps handled twice
    ONCE = 2  # written again, and recognised there


class OutboxErrorCode(IntEnum):
    """Why a session or a request failed; below 16 the session."""

    VERSION = 1
    PROTOCOL = 2
    UNKNOWN_PEER = 3
    SUPERSEDED = 4  # by a newer session
    UNHANDLED = 16  # no handler for requests there
    HANDLER_FAILED = 17
    FORGOTTEN = 18  # handled before, but the reply is not kept any more


class IntroductionFrame(msgspec.Struct, frozen=True, gc=False):
    """The first frame in each direction."""

    hashname: bytes  # 32 bytes, the decoded form of the 52 characters
    epoch: int  # names the numbering of our requests
    memory: int  # names what we remember of yours
    heard: int  # the epoch of yours that we know
    handled: int  # what of it needs no repeating: acknowledges as an acknowledgement does
    requests_max: int  # how many unacknowledged requests we accept
    bytes_max: int  # and their total payload
    version: int = VERSION

    def serialize(self) -> bytes:
        return INTRODUCTION_LAYOUT.pack(
            INTRODUCTION_LAYOUT.size - LENGTH_SIZE,
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


class AcknowledgementFrame(msgspec.Struct, frozen=True, gc=False):
    """Everything up to this id that needed no reply was handled."""

    id: int

    def serialize(self) -> bytes:
        return ACKNOWLEDGEMENT_LAYOUT.pack(9, ACKNOWLEDGEMENT, self.id)


class ReplyFrame(msgspec.Struct, frozen=True, gc=False):
    """The answer to one request, and an acknowledgement of those before it."""

    id: int
    payload: bytes

    def serialize(self) -> bytes:
        return REPLY_LAYOUT.pack(9 + len(self.payload), REPLY, self.id) + self.payload


class ErrorFrame(msgspec.Struct, frozen=True, gc=False):
    """A request that failed there (and an acknowledgement as above), or with id 0 the session."""

    id: int
    code: int  # one that we do not know is an error all the same
    text: str

    def serialize(self) -> bytes:
        text = self.text.encode()[:TEXT_SIZE_MAX].decode(errors="ignore").encode()
        return ERROR_LAYOUT.pack(10 + len(text), ERROR, self.id, self.code) + text
