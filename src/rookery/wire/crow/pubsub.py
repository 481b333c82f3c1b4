"""Publish and subscribe: what goes between a client and the broker, node 3 of its tower.

    publish, consume        see `message`

    subscribe, unsubscribe  | op | rqos | rackquant | theme size | theme |
                            | 1  |  1   |     2     |     1      |  ...  |

    subscribe to latest     | op | rqos | rackquant | theme size | updates, latest | theme |
                            | 1  |  1   |     2     |     1      |        4        |  ...  |

    request                 | op | rqos | rackquant | theme size | reply theme size | data size |
                            | 1  |  1   |     2     |     1      |        1         |     2     |
                            followed by theme, reply theme and data

Sizes in bytes, integers little-endian. Packets of type 4 are the same conversation as it was
before nodes carried it: other numbers, and a subscription begins with the size of its theme.
"""

import struct
from typing import Self

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.wire.crow.message import (
    CONSUME,
    LEGACY_CONSUME,
    LEGACY_PUBLISH,
    PUBLISH,
    Consume,
    Publish,
    theme_and_data,
)
from rookery.wire.crow.packet import QOS_MAX

BROKER_NODE = 3
CONTROL_NODE = 100
BEAM_NODE = 101
CONTROL_THEME = b"crowker/control"
NO_ANSWER = b"__noanswer__"  # as reply theme

THEME_SIZE_MAX = 0xFF
LATEST_MAX = (1 << 31) - 1

_SUBSCRIBE = 1
_REQUEST = 3
_SUBSCRIBE_LATEST = 4
_UNSUBSCRIBE = 5

_LEGACY_SUBSCRIBE = 0

_SUBSCRIPTION_HEAD = struct.Struct("<BBHB")
_LATEST_HEAD = struct.Struct("<BBHBI")
_REQUEST_HEAD = struct.Struct("<BBHBBH")
_LEGACY_SUBSCRIPTION_HEAD = struct.Struct("<BBBH")


class Subscribe(msgspec.Struct, frozen=True, gc=False):
    """Subscribes to a theme with this quality; repeated to stay subscribed."""

    theme: bytes
    rqos: int
    rackquant_ms: int

    def serialize(self) -> bytes:
        return _subscription(_SUBSCRIBE, self.theme, self.rqos, self.rackquant_ms)

    def serialize_legacy(self) -> bytes:
        head = (_LEGACY_SUBSCRIBE, len(self.theme), _sendable(self.rqos), self.rackquant_ms)
        return _packed(_LEGACY_SUBSCRIPTION_HEAD, *head) + self.theme


class SubscribeLatest(msgspec.Struct, frozen=True, gc=False):
    """As `Subscribe`, and requests the latest messages of the theme, newest first."""

    theme: bytes
    rqos: int
    rackquant_ms: int
    latest: int
    updates: bool = True  # False: only the latest, not those to come

    def serialize(self) -> bytes:
        wanted = self.latest << 1 | self.updates
        quality = (_sendable(self.rqos), self.rackquant_ms)
        head = _packed(_LATEST_HEAD, _SUBSCRIBE_LATEST, *quality, len(self.theme), wanted)
        return head + self.theme


class Unsubscribe(msgspec.Struct, frozen=True, gc=False):
    theme: bytes
    rqos: int = 0  # of no meaning, but on the wire
    rackquant_ms: int = 0

    def serialize(self) -> bytes:
        return _subscription(_UNSUBSCRIBE, self.theme, self.rqos, self.rackquant_ms)


class PubSubRequest(msgspec.Struct, frozen=True, gc=False):
    """A publication that wants an answer: the broker subscribes its client to the reply theme."""

    theme: bytes
    reply_theme: bytes
    data: bytes
    rqos: int
    rackquant_ms: int

    def serialize(self) -> bytes:
        quality = (_sendable(self.rqos), self.rackquant_ms)
        sizes = (len(self.theme), len(self.reply_theme), len(self.data))
        head = _packed(_REQUEST_HEAD, _REQUEST, *quality, *sizes)
        return head + self.theme + self.reply_theme + self.data


class PubSubQuery(msgspec.Struct, frozen=True, gc=False):
    """A request as its service gets it: the data of a `Consume`.

    | reply theme size | reply theme | data |
    """

    reply_theme: bytes
    data: bytes

    def serialize(self) -> bytes:
        if len(self.reply_theme) > THEME_SIZE_MAX:
            raise UsageError(f"a reply theme of {len(self.reply_theme)} bytes")
        return bytes([len(self.reply_theme)]) + self.reply_theme + self.data

    @classmethod
    def parse(cls, data: bytes) -> Self:
        end = 1 + data[0] if data else 1
        if len(data) < end:
            raise DecodeError(f"the reply theme should end at {end}, the data at {len(data)}")
        return cls(data[1:end], data[end:])


Operation = Publish | Subscribe | Consume | PubSubRequest | SubscribeLatest | Unsubscribe
LegacyOperation = Publish | Subscribe | Consume


def parse(body: bytes) -> Operation:
    """Read the data of a node packet to or from the broker, or raise DecodeError."""
    operation = body[0] if body else None
    if operation == PUBLISH:
        return Publish(*theme_and_data(body))
    if operation == CONSUME:
        return Consume(*theme_and_data(body))
    if operation == _SUBSCRIBE:
        return Subscribe(*_parse_subscription(body))
    if operation == _UNSUBSCRIBE:
        return Unsubscribe(*_parse_subscription(body))
    if operation == _SUBSCRIBE_LATEST:
        return _parse_latest(body)
    if operation == _REQUEST:
        return _parse_request(body)
    raise DecodeError(f"no operation of publish and subscribe: {body[:1].hex()!r}")


def parse_legacy(data: bytes) -> LegacyOperation:
    """Read the data of a packet of type 4, or raise DecodeError."""
    operation = data[0] if data else None
    if operation == LEGACY_PUBLISH:
        return Publish(*theme_and_data(data))
    if operation == LEGACY_CONSUME:
        return Consume(*theme_and_data(data))
    if operation == _LEGACY_SUBSCRIBE:
        _, theme_size, rqos, rackquant_ms = _head(_LEGACY_SUBSCRIPTION_HEAD, data)
        (theme,) = _parts(data, _LEGACY_SUBSCRIPTION_HEAD.size, theme_size)
        return Subscribe(theme, _quality(rqos), rackquant_ms)
    raise DecodeError(f"no operation of legacy publish and subscribe: {data[:1].hex()!r}")


def _parse_subscription(body: bytes) -> tuple[bytes, int, int]:
    _, rqos, rackquant_ms, theme_size = _head(_SUBSCRIPTION_HEAD, body)
    (theme,) = _parts(body, _SUBSCRIPTION_HEAD.size, theme_size)
    return theme, _quality(rqos), rackquant_ms


def _parse_latest(body: bytes) -> SubscribeLatest:
    _, rqos, rackquant_ms, theme_size, wanted = _head(_LATEST_HEAD, body)
    (theme,) = _parts(body, _LATEST_HEAD.size, theme_size)
    return SubscribeLatest(theme, _quality(rqos), rackquant_ms, wanted >> 1, wanted & 1 == 1)


def _parse_request(body: bytes) -> PubSubRequest:
    _, rqos, rackquant_ms, *sizes = _head(_REQUEST_HEAD, body)
    theme, reply_theme, data = _parts(body, _REQUEST_HEAD.size, *sizes)
    return PubSubRequest(theme, reply_theme, data, _quality(rqos), rackquant_ms)


def _head(layout: struct.Struct, body: bytes) -> tuple[int, ...]:
    if len(body) < layout.size:
        raise DecodeError(f"{len(body)} bytes are less than the head of operation {body[0]}")
    return layout.unpack_from(body)


def _parts(body: bytes, at: int, *sizes: int) -> list[bytes]:
    """The rest of the body, cut to these sizes, of which nothing may remain or be missing."""
    if at + sum(sizes) != len(body):
        raise DecodeError(f"sizes say {at + sum(sizes)}, received {len(body)}")
    parts = []
    for size in sizes:
        parts.append(body[at : at + size])
        at += size
    return parts


def _quality(rqos: int) -> int:
    if rqos > QOS_MAX:
        raise DecodeError(f"there is no quality of service {rqos}")
    return rqos


def _subscription(operation: int, theme: bytes, rqos: int, rackquant_ms: int) -> bytes:
    head = (operation, _sendable(rqos), rackquant_ms, len(theme))
    return _packed(_SUBSCRIPTION_HEAD, *head) + theme


def _sendable(rqos: int) -> int:
    if rqos > QOS_MAX:
        raise UsageError(f"there is no quality of service {rqos}")
    return rqos


def _packed(layout: struct.Struct, *head: int) -> bytes:
    try:
        return layout.pack(*head)
    except struct.error as error:
        raise UsageError("a theme, the data or a number is too large for its field") from error
