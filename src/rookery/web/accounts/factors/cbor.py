"""CBOR (RFC 8949) as authenticators write it: the canonical form of CTAP2, and no more of it.

    | major type | argument |  0 number, 1 negative number, 2 bytes, 3 text, 4 array, 5 map,
    |   3 bits   |  5 bits  |  7 false (20), true (21), null (22)

Lengths are definite and in their shortest form. Tags, floats and repeated keys are refused.
"""

from typing import TypeAlias

from rookery.errors import DecodeError

DEPTH_MAX = 4  # as CTAP2 limits it
ITEMS_MAX = 64

Value: TypeAlias = "int | bytes | str | bool | list[Value] | dict[int | str, Value] | None"

_SIMPLE: dict[int, bool | None] = {20: False, 21: True, 22: None}
_LEAST = {1: 24, 2: 1 << 8, 4: 1 << 16, 8: 1 << 32}


def parse(data: bytes) -> Value:
    """Exactly one value, or DecodeError."""
    value, end = parse_from(data, 0)
    if end != len(data):
        raise DecodeError(f"{len(data) - end} bytes after the CBOR value")
    return value


def parse_from(data: bytes, at: int) -> tuple[Value, int]:
    """The value that begins there, and where it ends."""
    return _value(data, at, 0)


def _value(data: bytes, at: int, depth: int) -> tuple[Value, int]:
    if at >= len(data):
        raise DecodeError("CBOR ends too early")
    kind, low = data[at] >> 5, data[at] & 0x1F
    if kind == 7:
        if low not in _SIMPLE:
            raise DecodeError(f"CBOR with the simple value or float {low}")
        return _SIMPLE[low], at + 1
    number, at = _argument(data, at + 1, low)
    match kind:
        case 0:
            return number, at
        case 1:
            return -1 - number, at
        case 2:
            return _piece(data, at, number), at + number
        case 3:
            return _text(_piece(data, at, number)), at + number
        case 4 | 5:
            if depth >= DEPTH_MAX or number > ITEMS_MAX:
                raise DecodeError("CBOR is nested too deeply, or has too many items")
            read = _array if kind == 4 else _map
            return read(data, at, number, depth + 1)
        case _:
            raise DecodeError("CBOR with a tag")


def _argument(data: bytes, at: int, low: int) -> tuple[int, int]:
    if low < 24:
        return low, at
    if low > 27:
        raise DecodeError("CBOR of indefinite length")
    size = 1 << (low - 24)
    number = int.from_bytes(_piece(data, at, size), "big")
    if number < _LEAST[size]:
        raise DecodeError("CBOR with a number in more bytes than it takes")
    return number, at + size


def _piece(data: bytes, at: int, size: int) -> bytes:
    if size > len(data) - at:
        raise DecodeError("CBOR ends too early")
    return data[at : at + size]


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError("CBOR with text that is no UTF-8") from error


def _array(data: bytes, at: int, count: int, depth: int) -> tuple[Value, int]:
    values: list[Value] = []
    for _ in range(count):
        value, at = _value(data, at, depth)
        values.append(value)
    return values, at


def _map(data: bytes, at: int, count: int, depth: int) -> tuple[Value, int]:
    values: dict[int | str, Value] = {}
    for _ in range(count):
        key, at = _value(data, at, depth)
        if isinstance(key, bool) or not isinstance(key, int | str) or key in values:
            raise DecodeError("CBOR with a key that is repeated, or neither number nor text")
        values[key], at = _value(data, at, depth)
    return values, at
