"""`thtp`: one HTTP request and its response over one reliable channel.

    request   LOB({":method":"GET", ":path":"/x?y", header: text, ...}, body)
    response  LOB({":status":200, ":reason":"OK", header: text, ...}, body)

The bytes of that packet are cut over channel packets at will and run until `end`. The head is
therefore known before the body is complete, and the body can be of any length:

    | head length | head | body ...                             end
      2 bytes       JSON   piece by piece, nothing of it is kept
"""

import re
from collections.abc import Callable, Iterable
from typing import Generic, Self, TypeVar

import msgspec

from rookery.errors import DecodeError, ProtocolError, UsageError
from rookery.wire.link.lob import HEAD_SIZE_MAX, JSON_SIZE_MIN, JsonObject, Packet

TYPE = "thtp"
OPEN_SIZE_MAX = 1000  # the open packet must fit any path, before its size is known
METHOD_SIZE_MAX = 32
PATH_SIZE_MAX = 8192

# Lower-case name and value, in order; a name may come more than once.
Headers = tuple[tuple[str, str], ...]

_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_PATH = re.compile(r"/[!-~]*|\*")
# Latin-1 without controls: what an HTTP header can carry on the far side.
_VALUE = re.compile(r"[\t -~\x80-\xff]*")
_STATUS = re.compile(r"[2-5][0-9][0-9]")

# These speak about one connection, and a channel is another one.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


class RequestHead(msgspec.Struct, frozen=True):
    """Method, path with query, headers."""

    method: str
    path: str
    headers: Headers = ()

    @classmethod
    def of(cls, method: str, path: str, headers: Iterable[tuple[str, str]] = ()) -> Self:
        """Our own request, checked; UsageError if the wire cannot carry it."""
        try:
            return cls(_method(method), _path(path), _headers(headers))
        except ProtocolError as error:
            raise UsageError(str(error)) from error

    @classmethod
    def parse(cls, json: JsonObject) -> Self:
        """A peer's request, checked; ProtocolError if HTTP cannot mean it."""
        method, path = json.get(":method"), json.get(":path", "/")
        return cls(_method(method), _path(path), _headers(_pairs(json)))

    def from_peer(self, hashname: str) -> Self:
        """The same request, marked with its real sender."""
        kept = tuple(pair for pair in self.headers if pair[0] != "x-hashname")
        return msgspec.structs.replace(self, headers=(*kept, ("x-hashname", hashname)))

    def serialize(self) -> bytes:
        """The bytes before the body."""
        return _serialize({":method": self.method, ":path": self.path}, self.headers)


class ResponseHead(msgspec.Struct, frozen=True):
    """Status, headers, and the reason phrase if there is one."""

    status: int
    headers: Headers = ()
    reason: str = ""

    @classmethod
    def of(cls, status: int, headers: Iterable[tuple[str, str]] = (), reason: str = "") -> Self:
        """Our own response, checked; UsageError if the wire cannot carry it."""
        try:
            return cls(_status(status), _headers(headers), _reason(reason))
        except ProtocolError as error:
            raise UsageError(str(error)) from error

    @classmethod
    def parse(cls, json: JsonObject) -> Self:
        """A peer's response, checked; ProtocolError if HTTP cannot mean it."""
        return cls(
            _status(json.get(":status")), _headers(_pairs(json)), _reason(json.get(":reason"))
        )

    def serialize(self) -> bytes:
        """The bytes before the body."""
        pseudo: JsonObject = {":status": self.status}
        if self.reason:
            pseudo[":reason"] = self.reason
        return _serialize(pseudo, self.headers)


HeadT = TypeVar("HeadT", bound=RequestHead | ResponseHead)


class ThtpParser(Generic[HeadT]):
    """Reads one message as its bytes come: the head once it is whole, then the body as it is."""

    def __init__(self, parse: Callable[[JsonObject], HeadT]) -> None:
        self._parse = parse
        self._pending = bytearray()
        self.head: HeadT | None = None

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the message; give back those that belong to its body."""
        if self.head is not None:
            return data
        self._pending += data
        if len(self._pending) < 2:
            return b""
        size = int.from_bytes(self._pending[:2], "big")
        if not JSON_SIZE_MIN <= size <= HEAD_SIZE_MAX:
            raise DecodeError(f"a head of {size} bytes")
        if len(self._pending) < 2 + size:
            return b""
        packet = Packet.parse(bytes(self._pending))
        self._pending.clear()
        self.head = self._parse(packet.json)
        return packet.body

    def finish(self) -> None:
        """The peer ended: without a head there was no message."""
        if self.head is None:
            raise DecodeError("ended before the head was complete")


def _method(value: object) -> str:
    if not isinstance(value, str) or len(value) > METHOD_SIZE_MAX or not _METHOD.fullmatch(value):
        raise ProtocolError("invalid method")
    return value.upper()


def _path(value: object) -> str:
    if not isinstance(value, str) or len(value) > PATH_SIZE_MAX or not _PATH.fullmatch(value):
        raise ProtocolError("invalid path")
    return value


def _status(value: object) -> int:
    # The public JavaScript peer reads a number or its digits, so either may be in the wild.
    digits = _digits(value)
    if not isinstance(digits, str) or not _STATUS.fullmatch(digits):
        raise ProtocolError("invalid status")
    return int(digits)


def _reason(value: object) -> str:
    # Only for human eyes: what cannot be shown is left out.
    return value if isinstance(value, str) and _VALUE.fullmatch(value) else ""


def _pairs(json: JsonObject) -> Iterable[tuple[str, object]]:
    for name, value in json.items():
        if name.startswith(":"):
            continue  # the line of the message, or one that a later version adds
        if isinstance(value, list):
            yield from ((name, item) for item in value)
        else:
            yield name, value


def _headers(pairs: Iterable[tuple[str, object]]) -> Headers:
    checked = [(_name(name), _value(value)) for name, value in pairs]
    dropped = set(_HOP_BY_HOP)
    for name, value in checked:
        if name == "connection":
            dropped.update(option.strip().lower() for option in value.split(","))
    return tuple(pair for pair in checked if pair[0] not in dropped)


def _name(value: str) -> str:
    name = value.lower()
    if not _NAME.fullmatch(name):
        raise ProtocolError("invalid header name")
    return name


def _value(value: object) -> str:
    # JavaScript handlers write numbers (`content-length: 5`) where the specification has text.
    text = _digits(value)
    if not isinstance(text, str) or not _VALUE.fullmatch(text):
        raise ProtocolError("invalid header value")
    return text.strip(" \t")


def _digits(value: object) -> object:
    # Python refuses to format integers of thousands of digits.
    return str(value) if type(value) is int and value.bit_length() < 64 else value


def _serialize(pseudo: JsonObject, headers: Headers) -> bytes:
    json = pseudo
    for name, values in _grouped(headers).items():
        # Set cookies are what must not be joined; the JavaScript peer sends a list as well.
        separator = "; " if name == "cookie" else ", "
        several = name == "set-cookie" and len(values) > 1
        json[name] = values if several else separator.join(values)
    packet = Packet.of(json)
    if len(packet.head) > HEAD_SIZE_MAX:
        raise UsageError(f"a head of {len(packet.head)} bytes exceeds {HEAD_SIZE_MAX}")
    return packet.serialize()


def _grouped(headers: Headers) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    return grouped
