"""What all gates do with the packets that pass: read and write the header, count, drop."""

from collections import Counter

from rookery.errors import DecodeError, UsageError
from rookery.runtime.crow.gates.gate import CrowDropReason, CrowReceiver
from rookery.wire.crow.packet import CrowPacket


class CrowGateCounters:
    """What went through a gate, and what did not."""

    __slots__ = ("bytes_in", "bytes_out", "dropped", "packets_in", "packets_out")

    def __init__(self) -> None:
        self.packets_in = 0
        self.packets_out = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.dropped: Counter[str] = Counter()  # by reason


class CrowGateCodec:
    """What every gate does with what passes it: read or write the header, count, drop."""

    def __init__(self, receiver: CrowReceiver, *, header_version: int = 1) -> None:
        """Version 0 is for old serial lines; nothing on the wire tells which one it is."""
        if header_version not in (0, 1):
            raise UsageError(f"there is no crow header of version {header_version}")
        self.counters = CrowGateCounters()
        self._received = receiver.received
        self._is_old = header_version == 0

    def enter(self, data: bytes, return_hop: bytes) -> bool:
        """Report the packet in `data`, if that is one."""
        packet = self.read(data)
        if packet is None:
            return False
        self._received([packet], return_hop)
        return True

    def enter_all(self, datagrams: list[bytes], return_hop: bytes) -> None:
        """Report every packet of several that came the same way."""
        try:
            packets = [self._parse(each) for each in datagrams]
        except DecodeError:
            packets = [packet for packet in map(self.read, datagrams) if packet is not None]
        else:
            self.counters.packets_in += len(packets)
            self.counters.bytes_in += sum([len(each) for each in datagrams])
        self._received(packets, return_hop)

    def read(self, data: bytes) -> CrowPacket | None:
        """The packet in `data`, for a gate whose way back depends on it."""
        try:
            packet = self._parse(data)
        except DecodeError:
            self.drop(CrowDropReason.MALFORMED)
            return None
        self.counters.packets_in += 1
        self.counters.bytes_in += len(data)
        return packet

    def leave(self, packet: CrowPacket) -> bytes | None:
        """The bytes to send; None for a packet that this header cannot hold."""
        try:
            return self._serialize(packet)
        except UsageError:  # forwarded from a line that knows more types
            self.drop(CrowDropReason.UNFIT)
            return None

    def leave_all(self, packets: list[CrowPacket]) -> list[bytes]:
        """The bytes of every packet that this header can hold."""
        try:
            return [self._serialize(each) for each in packets]
        except UsageError:
            return [data for data in map(self.leave, packets) if data is not None]

    def sent(self, size: int, count: int = 1) -> None:
        self.counters.packets_out += count
        self.counters.bytes_out += size

    def drop(self, reason: CrowDropReason, count: int = 1) -> None:
        self.counters.dropped[reason] += count

    def _parse(self, data: bytes) -> CrowPacket:
        return CrowPacket.parse_v0(data) if self._is_old else CrowPacket.parse(data)

    def _serialize(self, packet: CrowPacket) -> bytes:
        return packet.serialize_v0() if self._is_old else packet.serialize()
