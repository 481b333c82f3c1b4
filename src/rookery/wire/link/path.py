"""Paths: where the other end of a link may be reached, as values and as Telehash JSON.

{"type":"udp4","ip":"192.0.2.1","port":42424}      NetPath (also udp6, tcp4, tcp6, tls4, tls6)
{"type":"http","url":"http://192.0.2.1:42424/"}    UrlPath (WebSocket inside)
{"type":"peer","hn":"<router hashname>"}           PeerPath (through a router)
{"type":"unix","file":"/run/rookery.sock"}         UnixPath (a socket of this machine)

A RoutePath (through the mesh) is never advertised: each end finds its own route. A UnixPath means
nothing on another machine: it is neither advertised nor taken from peers.
"""

from ipaddress import ip_address

import msgspec

from rookery.errors import DecodeError
from rookery.wire.link.lob import JsonObject, integer, text
from rookery.wire.link.transport import FAMILIES, NET_KINDS, STREAM_KINDS, UNIX, URL

_URL_SIZE_MAX = 1024
_UNIX_SIZE_MAX = 107  # of a socket's name in bytes, as systems have it


class NetPath(msgspec.Struct, frozen=True, gc=False):
    """An IP address and port under one transport; `ws4`/`ws6` are inbound connections only."""

    kind: str
    ip: str
    port: int

    def json(self) -> JsonObject:
        return {"type": self.kind, "ip": self.ip, "port": self.port}

    @property
    def is_datagram(self) -> bool:
        return self.kind not in STREAM_KINDS

    @property
    def address(self) -> tuple[str, int]:
        return self.ip, self.port

    def __str__(self) -> str:
        host = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{self.kind}:{host}:{self.port}"


class UrlPath(msgspec.Struct, frozen=True, gc=False):
    """A URL that upgrades to a WebSocket carrying one packet per message."""

    url: str

    @property
    def kind(self) -> str:
        return URL

    def json(self) -> JsonObject:
        return {"type": URL, "url": self.url}

    def __str__(self) -> str:
        return self.url


class PeerPath(msgspec.Struct, frozen=True, gc=False):
    """Through a router that both ends have a link to."""

    hn: str

    @property
    def kind(self) -> str:
        return "peer"

    def json(self) -> JsonObject:
        return {"type": "peer", "hn": self.hn}

    def __str__(self) -> str:
        return f"peer:{self.hn[:8]}"


class RoutePath(msgspec.Struct, frozen=True, gc=False):
    """Through the mesh to the member `hn`, by whatever route is best at the moment."""

    hn: str

    @property
    def kind(self) -> str:
        return "route"

    def json(self) -> JsonObject:
        return {"type": "route", "hn": self.hn}

    def __str__(self) -> str:
        return f"route:{self.hn[:8]}"


class UnixPath(msgspec.Struct, frozen=True, gc=False):
    """A Unix socket of this machine; an accepted connection has a number and cannot be dialled."""

    file: str
    connection: int = 0

    @property
    def kind(self) -> str:
        return UNIX

    def json(self) -> JsonObject:
        return {"type": UNIX, "file": self.file}

    def __str__(self) -> str:
        return f"unix:{self.file}" + (f"#{self.connection}" if self.connection else "")


Path = NetPath | UrlPath | PeerPath | RoutePath | UnixPath


def is_stream(path: Path) -> bool:
    """True if the path is a connection of its own."""
    return isinstance(path, UrlPath | UnixPath) or (
        isinstance(path, NetPath) and not path.is_datagram
    )


def is_local(path: Path) -> bool:
    """True if the path means something on this machine only, and is not told to peers."""
    return isinstance(path, UnixPath)


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """How one packet came over a RoutePath: the nodes that it passed, and whether it was queued."""

    route: tuple[bytes, ...]  # from its origin to here
    back: tuple[bytes, ...]  # the same nodes from here to its origin
    is_marked: bool  # a node on the route had a long queue


def net_path(carrier: str, ip: str, port: int) -> NetPath:
    """`net_path("udp", "::1", 42424)` is a udp6 path."""
    return NetPath(carrier + ("6" if ":" in ip else "4"), ip, port)


def parse_path(value: object) -> Path:
    """Read a path of a peer's JSON, or raise DecodeError."""
    if not isinstance(value, dict):
        raise DecodeError("a path must be a JSON object")
    kind = text(value, "type")
    if kind == URL:
        return _url_path(text(value, "url") or text(value, "http"))
    if kind == "peer":
        return _peer_path(text(value, "hn") or text(value, "peer"))
    if kind in NET_KINDS:
        return _net_path(kind, text(value, "ip"), integer(value, "port"))
    raise DecodeError("unknown path type")


def parse_own_path(value: object) -> Path:
    """The same for a link that this machine's user gave: sockets of the machine count as well."""
    if isinstance(value, dict) and text(value, "type") == UNIX:
        return unix_path(text(value, "file") or "")
    return parse_path(value)


def unix_path(file: str) -> UnixPath:
    """The path of a Unix socket, or DecodeError."""
    if not file.startswith("/") or "\0" in file or len(file.encode()) > _UNIX_SIZE_MAX:
        raise DecodeError(f"a Unix socket needs an absolute name of at most {_UNIX_SIZE_MAX} bytes")
    return UnixPath(file)


def _net_path(kind: str, ip: str | None, port: int | None) -> NetPath:
    try:
        address = ip_address(ip or "")
    except ValueError as error:
        raise DecodeError("a path needs an IP address") from error
    if address.version != FAMILIES[kind[-1]]:
        raise DecodeError(f"{kind} with an address of the other family")
    if port is None or not 0 < port < 0x10000:
        raise DecodeError("a path needs a port between 1 and 65535")
    return NetPath(kind, str(address), port)


def _url_path(url: str | None) -> UrlPath:
    if url is None or len(url) > _URL_SIZE_MAX or not url.startswith(("http://", "https://")):
        raise DecodeError("an http path needs an http or https URL")
    return UrlPath(url)


def _peer_path(hn: str | None) -> PeerPath:
    if hn is None or len(hn) != 52:
        raise DecodeError("a peer path needs a hashname")
    return PeerPath(hn)
