"""`sock`: a TCP connection or a UDP socket that the other end of a link opens for us.

    {"type":"sock","sock":"connect","dst":{"ip","port"},"src"?:{…}}   dial dst
    {"type":"sock","sock":"bind","src":{"port"},"dst":{"port"}}       listen for me
    {"type":"sock","sock":"accept","dst":{…},"src":{…}}               a peer reached your bind

A reliable channel is TCP, an unreliable one UDP. A bind names its port twice because the spec
reads `src` and the public JavaScript peer reads `dst`. What may be dialled is `sock_rules`' affair.
"""

import re
from enum import StrEnum

import msgspec

from rookery.errors import (
    CongestionError,
    DecodeError,
    DeniedError,
    LocalError,
    UnreachableError,
)
from rookery.wire.link.lob import JsonObject, integer, text

TYPE = "sock"
HOST_SIZE_MAX = 253
PORT_MAX = 0xFFFF

_HOST = re.compile(r"[0-9A-Za-z._:%-]+", re.ASCII)


class SockProtocol(StrEnum):
    TCP = "tcp"
    UDP = "udp"

    @classmethod
    def of(cls, *, reliable: bool) -> "SockProtocol":
        return cls.TCP if reliable else cls.UDP


class SockAddress(msgspec.Struct, frozen=True):
    """A host and port as named on the wire; the host may be a name that the far side resolves."""

    host: str
    port: int

    def json(self) -> JsonObject:
        return {"ip": self.host, "port": self.port}

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class SockConnect(msgspec.Struct, frozen=True):
    """Dial `dst`; `src` is the original client when we only pass its connection on."""

    dst: SockAddress
    src: SockAddress | None = None

    def head(self) -> JsonObject:
        head: JsonObject = {"sock": "connect", "dst": self.dst.json()}
        return head if self.src is None else {**head, "src": self.src.json()}


class SockBind(msgspec.Struct, frozen=True):
    """Listen on a port; 0 lets the other side choose."""

    port: int = 0

    def head(self) -> JsonObject:
        return {"sock": "bind", "src": {"port": self.port}, "dst": {"port": self.port}}


class SockAccept(msgspec.Struct, frozen=True):
    """A connection that reached the port bound as `dst`; JavaScript leaves out `src.port`."""

    dst: SockAddress
    src: SockAddress | None = None

    def head(self) -> JsonObject:
        head: JsonObject = {"sock": "accept", "dst": self.dst.json()}
        return head if self.src is None else {**head, "src": self.src.json()}


Request = SockConnect | SockBind | SockAccept


def parse_open(head: JsonObject) -> Request:
    """The request in an opening packet, or DecodeError."""
    match text(head, "sock"):
        case "connect":
            dst = parse_address(head, "dst")
            if dst is None or dst.port == 0:
                raise DecodeError("connect needs a dst with host and port")
            return SockConnect(dst, parse_address(head, "src"))
        case "bind":
            return SockBind(_wanted_port(head))
        case "accept":
            return SockAccept(parse_bound(head), parse_address(head, "src"))
        case _:
            raise DecodeError("sock is none of connect, bind and accept")


def parse_address(head: JsonObject, key: str) -> SockAddress | None:
    """The address under `key`; None when absent, DecodeError when malformed."""
    value = head.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise DecodeError(f"{key} is not an object")
    host, port = text(value, "ip"), _port(value, key)
    if host is None or len(host) > HOST_SIZE_MAX or not _HOST.fullmatch(host):
        raise DecodeError(f"{key} names no host")
    return SockAddress(host, port)


def parse_bound(head: JsonObject) -> SockAddress:
    """The bound `dst` of an answer to bind, or of an accept.

    JavaScript writes `"ip":null` when it finds no outward interface; the port is what counts.
    """
    value = head.get("dst")
    if not isinstance(value, dict):
        raise DecodeError("no dst that was bound")
    if value.get("ip") is None:
        return SockAddress("0.0.0.0", _port(value, "dst"))  # noqa: S104
    address = parse_address(head, "dst")
    assert address is not None
    return address


def _wanted_port(head: JsonObject) -> int:
    """The spec's `src.port` first, then JavaScript's `dst.port`."""
    for key in ("src", "dst"):
        value = head.get(key)
        if isinstance(value, dict) and (port := _port(value, key)):
            return port
    return 0


def _port(value: JsonObject, key: str) -> int:
    port = integer(value, "port")
    if port is None and value.get("port") is None:
        return 0
    if port is None or not 0 <= port <= PORT_MAX:
        raise DecodeError(f"{key} names no port")
    return port


class SockFault(StrEnum):
    """Why a request came to nothing: the whole text of the `err` that answers it."""

    DENIED = "denied"  # also for what a rule hides: peers get no reasons
    INVALID = "invalid"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    RESET = "reset"
    IN_USE = "in use"
    BUSY = "busy"

    def error(self, wanted: object) -> LocalError:
        """The same fault as the asking side's caller hears it."""
        match self:
            case SockFault.DENIED:
                return DeniedError(f"the peer does not allow {wanted}")
            case SockFault.BUSY:
                return CongestionError(f"the peer has too many sockets open to take {wanted}")
            case _:
                return UnreachableError(f"{wanted}: {self.value}")

    @classmethod
    def of(cls, err: str) -> "SockFault | None":
        """The fault that an `err` text names; None for any other text."""
        return next((fault for fault in cls if err == fault.value), None)
