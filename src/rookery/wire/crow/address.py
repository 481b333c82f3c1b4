"""Crow addresses as text: gate by gate, the whole route that a packet shall take.

    .12.127.0.0.1:10009.14@chrewekui\\.onion:1789#0A

    .digits    one byte                       @text   its characters, in UTF-8
    :digits    two bytes, big-endian          _       nothing, to tell parts from each other
    #digits    bytes, two hex digits each

Text runs to the next prefix; a backslash takes the meaning from the character behind it. No digits
are zero. Text is never on the wire: a tower sees bytes, and each gate knows its own part of them.
"""

import re
from ipaddress import AddressValueError, IPv4Address

from rookery.errors import UsageError
from rookery.wire.crow.packet import ADDRESS_SIZE_MAX

# The usual numbers of gates.
UDP_GATE = 12
TCP_GATE = 13
SOCKS_GATE = 14
MESH_GATE = 16
SERIAL_GATE = 42

HASHNAME_SIZE = 32

_IP_SIZE = 4
_PORT_SIZE = 2
_DOT_DIGITS_MAX = 3

_ITEM = re.compile(
    r"\.(?P<byte>[0-9]*)"
    r"|:(?P<word>[0-9]*)"
    r"|#(?P<hex>[0-9A-Fa-f]*)"
    r"|@(?P<text>(?:[^.:#@_\\\r\n\0]|\\.)*)"
    r"|(?P<separator>_)",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TO_ESCAPE = re.compile(r"[.:#@_\\]")
_LINE_END = "\r\n"


def parse(text: str) -> bytes:
    """The bytes of an address; an empty text is this very tower."""
    address = bytearray()
    at = 0
    while item := _ITEM.match(text, at):
        address += _item_bytes(item)
        at = item.end()
    # The public parser ends at a line end and ignores the rest; we refuse to cut a route short.
    if text[at:].strip(_LINE_END):
        raise UsageError(f"no part of an address begins with {text[at]!r}, at {at} of {text!r}")
    if len(address) > ADDRESS_SIZE_MAX:
        raise UsageError(f"an address of {len(address)} bytes, {ADDRESS_SIZE_MAX} is the longest")
    return bytes(address)


def format(address: bytes) -> str:  # noqa: A001
    """Text that parses back to these bytes.

    Hops through gates of the usual numbers are written out; from the first unknown gate on, what
    is an argument and what a gate cannot be known, so the rest is hex.
    """
    parts = []
    at = 0
    while at < len(address):
        part, size = _hop_text(address[at:])
        parts.append(part)
        at += size
    return "".join(parts)


def udp_hop(ip: str, port: int, gate: int = UDP_GATE) -> bytes:
    """One hop over UDP, or over TCP with the number of such a gate."""
    try:
        packed = IPv4Address(ip).packed
    except AddressValueError as error:
        raise UsageError(f"{ip!r} is not an IPv4 address") from error
    if not 0 <= port <= 0xFFFF:
        raise UsageError(f"there is no port {port}")
    if not 0 <= gate <= 0xFF:
        raise UsageError(f"there is no gate {gate}")
    return bytes([gate]) + packed + port.to_bytes(_PORT_SIZE, "big")


def _item_bytes(item: re.Match[str]) -> bytes:
    kind, value = item.lastgroup, item[item.lastgroup or 0]
    if kind == "byte":
        if len(value) > _DOT_DIGITS_MAX:
            raise UsageError(f"{item[0]!r} has more than {_DOT_DIGITS_MAX} digits")
        return _number(item, value, 1)
    if kind == "word":
        return _number(item, value, 2)
    if kind == "hex":
        if len(value) % 2:
            raise UsageError(f"{item[0]!r} has an odd number of digits")
        return bytes.fromhex(value)
    if kind == "text":
        try:
            # Bytes of a command line that are not UTF-8 come as lone surrogates.
            return _ESCAPED.sub(r"\1", value).encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise UsageError(f"{item[0]!r} cannot be written in UTF-8") from error
    return b""


def _number(item: re.Match[str], digits: str, size: int) -> bytes:
    # The public parser wraps instead, and the packet goes elsewhere.
    significant = digits.lstrip("0") or "0"
    if len(significant) > 5 or int(significant) >= 1 << 8 * size:
        raise UsageError(f"the number of {item[0]!r} is too large")
    return int(significant).to_bytes(size, "big")


def _hop_text(route: bytes) -> tuple[str, int]:
    """The first hop of a route as text, and its size."""
    gate, argument = route[0], route[1:]
    if gate in (UDP_GATE, TCP_GATE) and len(argument) >= _IP_SIZE + _PORT_SIZE:
        ip = "".join(f".{byte}" for byte in argument[:_IP_SIZE])
        port = argument[_IP_SIZE : _IP_SIZE + _PORT_SIZE]
        return f".{gate}{ip}{_port_text(port)}", 1 + _IP_SIZE + _PORT_SIZE
    if gate == MESH_GATE and len(argument) >= HASHNAME_SIZE:
        return f".{gate}#{argument[:HASHNAME_SIZE].hex().upper()}", 1 + HASHNAME_SIZE
    if gate == SERIAL_GATE:
        return f".{gate}", 1
    if gate == SOCKS_GATE and argument:
        name, port = argument[1 : 1 + argument[0]], argument[1 + argument[0] :][:_PORT_SIZE]
        if len(port) == _PORT_SIZE and name.isascii() and name.decode().isprintable():
            text = _TO_ESCAPE.sub(r"\\\g<0>", name.decode())
            return f".{gate}.{len(name)}@{text}{_port_text(port)}", 2 + len(name) + _PORT_SIZE
    return f"#{route.hex().upper()}", len(route)


def _port_text(port: bytes) -> str:
    return f":{int.from_bytes(port, 'big')}"
