"""Crow over a serial line: gstuff frames of packets, under either header.

    hop   | id |
          | 1  |

Both ends of a line must be told the same symbols and header, for nothing on the line says which
they are. The public C++ tower holds 512 bytes of a frame after escaping, so packets for one should
stay below some 250.
"""

from rookery.errors import UsageError
from rookery.runtime.crow.gates.codec import CrowGateCodec, CrowGateCounters
from rookery.runtime.crow.gates.gate import CrowDropReason, CrowReceiver, checked_id
from rookery.runtime.crow.gates.serial_line import BAUDRATE, SerialLine
from rookery.wire.crow import gstuff
from rookery.wire.crow.packet import CrowPacket

ID = 42
PACKET_SIZE_MAX = 4096

_SYMBOLS = {0: gstuff.V0, 1: gstuff.V1}


class CrowSerialGate:
    """One line, open until `close` and reopened whenever it was unplugged."""

    def __init__(
        self,
        receiver: CrowReceiver,
        path: str,
        *,
        baudrate: int = BAUDRATE,
        symbols_version: int = 1,
        header_version: int = 1,
        gate_id: int = ID,
    ) -> None:
        """UsageError when there is no such line."""
        if symbols_version not in _SYMBOLS:
            raise UsageError(f"there are no gstuff symbols of version {symbols_version}")
        self.id = checked_id(gate_id)
        self.address = bytes([gate_id])
        self._receiver = receiver
        self._codec = CrowGateCodec(receiver, header_version=header_version)
        self._symbols = _SYMBOLS[symbols_version]
        self._deframer = self._new_deframer()
        self._line = SerialLine(path, self, baudrate=baudrate)

    @property
    def counters(self) -> CrowGateCounters:
        return self._codec.counters

    @property
    def is_plugged(self) -> bool:
        return self._line.is_plugged

    def send(self, packet: CrowPacket) -> None:
        data = self._codec.leave(packet)
        if data is None:
            return
        if len(data) > PACKET_SIZE_MAX:
            self._codec.drop(CrowDropReason.UNFIT)
        elif not self._line.is_plugged:
            self._codec.drop(CrowDropReason.UNREACHABLE)
        elif not self._line.write(gstuff.frame(data, self._symbols)):
            self._codec.drop(CrowDropReason.FULL)
        else:
            self._codec.sent(len(data))

    async def close(self) -> None:
        self._line.close()

    # What the line reports.

    def bytes_received(self, data: bytes) -> None:
        deframer = self._deframer
        spoilt = deframer.damaged + deframer.oversized
        packets = deframer.feed(data)
        spoilt = deframer.damaged + deframer.oversized - spoilt
        if spoilt:
            self.counters.dropped[CrowDropReason.MALFORMED] += spoilt
        for packet in packets:
            self._codec.enter(packet, self.address)

    def drained(self) -> None:
        self._receiver.drained()

    def unplugged(self) -> None:
        self._deframer = self._new_deframer()  # half a frame is no beginning of the next

    def _new_deframer(self) -> gstuff.GstuffDeframer:
        return gstuff.GstuffDeframer(self._symbols, PACKET_SIZE_MAX)
