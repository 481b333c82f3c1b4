"""The opening of a `proxy` stream: which physical connection the exit is to make.

    {"type":"tcp","host":"www.example.org","port":443}
    {"type":"udp","host":"192.0.2.53","port":53}
    {"type":"serial","name":"meter","options":{"baudrate":9600,"bits":7,"parity":"even","stop":1}}
    {"type":"listen","port":8000,"token":"…"}                   connections come back as
    {"type":"accepted","token":"…","host":"192.0.2.9","port":41000}

Unknown keys are skipped, unknown options are not: an exit that cannot do what an opening asks for
refuses instead of doing something else.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from rookery.errors import DecodeError
from rookery.link.channels.sock import HOST_SIZE_MAX, PORT_MAX, SockProtocol

META_KEYS_MAX = 16
NAME_SIZE_MAX = 128
TOKEN_SIZE = 32
BAUDRATE = 115_200
BAUDRATE_MAX = 4_000_000

_HOST = re.compile(r"[0-9A-Za-z._:%-]+", re.ASCII)
_NAME = re.compile(r"[0-9A-Za-z_][0-9A-Za-z._:+@-]*", re.ASCII)
_TOKEN = re.compile(r"[0-9a-f]{32}", re.ASCII)
_OPTIONS = ("baudrate", "bits", "parity", "stop")

Meta = dict[str, object]


class Parity(StrEnum):
    NONE = "none"
    EVEN = "even"
    ODD = "odd"


class NetTarget(msgspec.Struct, frozen=True):
    """A TCP connection, or a UDP socket that talks to one address; the exit resolves the name."""

    protocol: SockProtocol
    host: str
    port: int

    def meta(self) -> Meta:
        return {"type": self.protocol.value, "host": self.host, "port": self.port}

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.protocol} {host}:{self.port}"


class SerialTarget(msgspec.Struct, frozen=True):
    """A serial line by its name, never by its path."""

    name: str
    baudrate: int = BAUDRATE
    bits: int = 8
    parity: Parity = Parity.NONE
    stop: int = 1

    def meta(self) -> Meta:
        options = {
            "baudrate": self.baudrate,
            "bits": self.bits,
            "parity": self.parity.value,
            "stop": self.stop,
        }
        return {"type": "serial", "name": self.name, "options": options}

    def __str__(self) -> str:
        return f"serial {self.name}"


class ListenRequest(msgspec.Struct, frozen=True):
    """A TCP listener at the exit; 0 lets it choose the port."""

    port: int
    token: str

    def meta(self) -> Meta:
        return {"type": "listen", "port": self.port, "token": self.token}

    def __str__(self) -> str:
        return f"listen tcp {self.port}"


class AcceptedByExit(msgspec.Struct, frozen=True):
    """A connection to our listener at an exit; the address of its origin is informative only."""

    token: str
    host: str
    port: int

    def meta(self) -> Meta:
        return {"type": "accepted", "token": self.token, "host": self.host, "port": self.port}


Target = NetTarget | SerialTarget
ProxyOpening = Target | ListenRequest | AcceptedByExit


def parse_opening(meta: Mapping[str, object]) -> ProxyOpening:
    """What a stream was opened for, or DecodeError."""
    if len(meta) > META_KEYS_MAX:
        raise DecodeError("opening says too much")
    match meta.get("type"):
        case "tcp":
            return NetTarget(SockProtocol.TCP, _host(meta), _port(meta, 1))
        case "udp":
            return NetTarget(SockProtocol.UDP, _host(meta), _port(meta, 1))
        case "serial":
            return _serial(meta)
        case "listen":
            return ListenRequest(_port(meta, 0), _token(meta))
        case "accepted":
            return AcceptedByExit(_token(meta), _host(meta), _port(meta, 0))
        case _:
            raise DecodeError("opening is of no known type")


def net(protocol: SockProtocol, host: str, port: int) -> NetTarget:
    """A checked target; DecodeError when it is invalid."""
    meta: Meta = {"host": host, "port": port}
    return NetTarget(protocol, _host(meta), _port(meta, 1))


def is_name(name: str) -> bool:
    """Whether a serial line may be called so; never a path, never hidden."""
    return len(name) <= NAME_SIZE_MAX and _NAME.fullmatch(name) is not None


def _host(meta: Mapping[str, object]) -> str:
    host = meta.get("host")
    if not isinstance(host, str) or len(host) > HOST_SIZE_MAX or not _HOST.fullmatch(host):
        raise DecodeError("opening names no host")
    return host


def _port(meta: Mapping[str, object], low: int) -> int:
    return _number(meta, "port", low, PORT_MAX, None)


def _token(meta: Mapping[str, object]) -> str:
    token = meta.get("token")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise DecodeError("opening has no token")
    return token


def _serial(meta: Mapping[str, object]) -> SerialTarget:
    name, options = meta.get("name"), meta.get("options", {})
    if not isinstance(name, str) or not is_name(name):
        raise DecodeError("opening names no serial line")
    if not isinstance(options, dict) or any(key not in _OPTIONS for key in options):
        raise DecodeError("opening has options that nobody knows")
    parity = options.get("parity", "none")
    if parity not in ("none", "even", "odd"):
        raise DecodeError("opening has a parity that nobody knows")
    return SerialTarget(
        name,
        _number(options, "baudrate", 1, BAUDRATE_MAX, BAUDRATE),
        _number(options, "bits", 5, 8, 8),
        Parity(parity),
        _number(options, "stop", 1, 2, 1),
    )


def _number(
    values: Mapping[str, object], key: str, low: int, high: int, default: int | None
) -> int:
    number = values.get(key, default)
    if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
        raise DecodeError(f"opening has no proper {key}")
    return number
