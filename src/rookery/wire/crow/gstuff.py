"""Gstuff: how a serial line carries packets.

    | START | payload, escaped | CRC, escaped | STOP |
    |   1   |       ...        |    1 or 2    |  1   |

The CRC is over the payload as it was before escaping: 8 bits, polynomial 31, beginning with FF,
most significant bit first. `V1` is what is spoken today, `V0` the symbols of 2018, where START and
STOP are one and the same.
"""

import re

import msgspec

_CRC_POLYNOMIAL = 0x31
_CRC_START = 0xFF


class GstuffVariant(msgspec.Struct, frozen=True):
    """The symbols of a line."""

    start: bytes
    stop: bytes
    stub: bytes
    codes: tuple[tuple[bytes, bytes], ...]  # what follows the stub for a symbol; the stub's first


V1 = GstuffVariant(
    start=b"\xa8",
    stop=b"\xb2",
    stub=b"\xc5",
    codes=((b"\xc5", b"\x5c"), (b"\xa8", b"\x8a"), (b"\xb2", b"\x2b")),
)
V0 = GstuffVariant(
    start=b"\xac",
    stop=b"\xac",
    stub=b"\xad",
    codes=((b"\xad", b"\xaf"), (b"\xac", b"\xae")),
)


def frame(payload: bytes, context: GstuffVariant = V1) -> bytes:
    escaped = payload + bytes([_crc(payload)])
    for symbol, code in context.codes:
        escaped = escaped.replace(symbol, context.stub + code)
    return context.start + escaped + context.stop


class GstuffDeframer:
    """Takes payloads out of a line that may lose, change or invent bytes.

    START always begins anew, so no fault outlasts the frame it is in. Where START and STOP are one
    symbol it is taken for both: whatever stands between two of them may be a frame, and the line
    cannot fall out of step as the public receiver does.
    """

    __slots__ = ("_context", "_held", "_literals", "_marks", "_size_max", "damaged", "oversized")

    def __init__(self, context: GstuffVariant, size_max: int) -> None:
        self.damaged = 0
        self.oversized = 0
        self._context = context
        self._size_max = size_max
        self._held: bytearray | None = None  # of the frame begun; None between frames
        self._literals = {code[0]: symbol[0] for symbol, code in context.codes}
        self._marks = re.compile(b"[" + re.escape(context.start + context.stop) + b"]")

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that `data` completes; what is damaged or too large is dropped, counted."""
        payloads: list[bytes] = []
        at = 0
        for mark in self._marks.finditer(data):
            self._hold(data[at : mark.start()])
            at = mark.end()
            if mark[0] == self._context.stop:
                self._complete(payloads)
            if mark[0] == self._context.start:
                self.damaged += bool(self._held)  # a frame that lost its end
                self._held = bytearray()
        self._hold(data[at:])
        return payloads

    def _hold(self, piece: bytes) -> None:
        if self._held is None:
            return
        self._held += piece
        # Each byte of the payload and its CRC takes two when all are escaped.
        if len(self._held) > 2 * (self._size_max + 1):
            self._held = None
            self.oversized += 1

    def _complete(self, payloads: list[bytes]) -> None:
        if not self._held:
            self._held = None
            return
        content = self._unescaped(self._held)
        self._held = None
        if _crc(content):
            self.damaged += 1
        elif len(content) > self._size_max + 1:
            self.oversized += 1
        else:
            payloads.append(content[:-1])

    def _unescaped(self, held: bytearray) -> bytes:
        stub = self._context.stub[0]
        if stub not in held:
            return bytes(held)
        content = bytearray()
        following = iter(held)
        for byte in following:
            if byte != stub:
                content.append(byte)
            elif (literal := self._literals.get(next(following, stub))) is not None:
                content.append(literal)
            else:
                content.clear()  # as the public receiver does: what comes next may be whole
        return bytes(content)


def _crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte << 1) ^ (_CRC_POLYNOMIAL if byte & 0x80 else 0)
    return byte & 0xFF


_CRC_OF_BYTE = bytes(map(_crc_of_byte, range(256)))


def _crc(data: bytes) -> int:
    """The CRC of a payload; zero for a payload followed by its CRC."""
    crc = _CRC_START
    for byte in data:
        crc = _CRC_OF_BYTE[crc ^ byte]
    return crc
