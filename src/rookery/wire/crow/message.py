"""Publish and consume, the operations that carry messages; `pubsub` has the rest.

    | op | theme size | data size | theme | data |
    | 1  |     1      |     2     |  ...  | ...  |

Sizes in bytes, integers little-endian. Apart from the others, so that they can be compiled.
"""

import struct
from typing import ClassVar, Final

from rookery.errors import DecodeError, UsageError

PUBLISH: Final = 0
CONSUME: Final = 2
LEGACY_PUBLISH: Final = 1
LEGACY_CONSUME: Final = 2

_HEAD: Final = struct.Struct("<BBH")
_HEAD_SIZE: Final = 4


class Publish:
    """A client has a message for all who subscribe to its theme."""

    __slots__ = ("data", "theme")
    __match_args__: ClassVar[tuple[str, str]] = ("theme", "data")

    def __init__(self, theme: bytes, data: bytes) -> None:
        self.theme: Final = theme
        self.data: Final = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Publish) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"Publish{self._fields}"

    @property
    def _fields(self) -> tuple[bytes, bytes]:
        return self.theme, self.data

    def serialize(self) -> bytes:
        return _message(PUBLISH, self.theme, self.data)

    def serialize_legacy(self) -> bytes:
        return _message(LEGACY_PUBLISH, self.theme, self.data)


class Consume:
    """The broker hands a published message to a subscriber."""

    __slots__ = ("data", "theme")
    __match_args__: ClassVar[tuple[str, str]] = ("theme", "data")

    def __init__(self, theme: bytes, data: bytes) -> None:
        self.theme: Final = theme
        self.data: Final = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Consume) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"Consume{self._fields}"

    @property
    def _fields(self) -> tuple[bytes, bytes]:
        return self.theme, self.data

    def serialize(self) -> bytes:
        return _message(CONSUME, self.theme, self.data)

    def serialize_legacy(self) -> bytes:
        return _message(LEGACY_CONSUME, self.theme, self.data)

    @staticmethod
    def parse(body: bytes) -> "Consume":
        """Read what a broker sends, and nothing else; DecodeError otherwise."""
        if not body or body[0] != CONSUME:
            raise DecodeError(f"no message of a broker: {body[:1].hex()!r}")
        theme, data = theme_and_data(body)
        return Consume(theme, data)


def theme_and_data(body: bytes) -> tuple[bytes, bytes]:
    """What either operation carries, or DecodeError."""
    if len(body) < _HEAD_SIZE:
        raise DecodeError(f"{len(body)} bytes are less than the head of a message")
    data_at = _HEAD_SIZE + body[1]
    size = data_at + (body[2] | body[3] << 8)
    if size != len(body):
        raise DecodeError(f"sizes say {size}, received {len(body)}")
    return body[_HEAD_SIZE:data_at], body[data_at:]


def _message(operation: int, theme: bytes, data: bytes) -> bytes:
    try:
        return _HEAD.pack(operation, len(theme), len(data)) + theme + data
    except struct.error as error:
        raise UsageError("a theme, the data or a number is too large for its field") from error
