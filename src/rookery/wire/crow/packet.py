"""Crow packet: the sender writes the whole route, and each gate writes the return hop over it.

    v1  | flags | length | address length | stage | seqid | qos, time code | address | data |
        |   1   |   2    |       1        |   1   |   2   |       1        |   ...   | ...  |

    v0  | flags | length | address length | stage | ackquant | seqid | qos | address | data |
        |   1   |   2    |       1        |   1   |    2     |   2   |  1  |   ...   | ...  |

Sizes in bytes, integers little-endian; `length` covers the whole packet. Bit 0 of the flags marks
an acknowledgement, the type is in bits 5 to 7 (v1) or 3 to 7 (v0). Nothing in the bytes tells v0
from v1: the operator of a gate must know which one its line uses.
"""

import struct
from typing import Final

from rookery.errors import DecodeError, UsageError

# Types of a packet; those without a name are free for raw use.
NODE: Final = 3
LEGACY_PUBSUB: Final = 4
# Types of an acknowledgement.
ACK: Final = 0
ACK21: Final = 1
ACK22: Final = 2

QOS_MAX: Final = 2
ADDRESS_SIZE_MAX: Final = 0xFF
PACKET_SIZE_MAX: Final = 0xFFFF
SEQID_MODULUS: Final = 1 << 16

_V1: Final = struct.Struct("<BHBBHB")
_V0: Final = struct.Struct("<BHBBHHB")
HEADER_SIZE: Final = 8
HEADER_SIZE_V0: Final = 10

_CODE_MAX: Final = 0x3F

_pack_v1: Final = _V1.pack


def timer_s(ackquant_ms: int) -> float:
    """How long either end waits before it repeats itself."""
    return (10 * _time_code(ackquant_ms) + 4) / 1000


class CrowPacket:
    """One packet, the same value whichever header it travels under."""

    __slots__ = ("ackquant_ms", "address", "data", "is_ack", "qos", "seqid", "stage", "type")

    def __init__(
        self,
        type: int,  # noqa: A002 - as the header calls it
        is_ack: bool,
        address: bytes,
        stage: int,
        seqid: int,
        qos: int,
        ackquant_ms: int,
        data: bytes,
    ) -> None:
        self.type: Final = type
        self.is_ack: Final = is_ack
        self.address: Final = address  # the return hops of the hops made, then the route ahead
        self.stage: Final = stage  # bytes of the address already used
        self.seqid: Final = seqid
        self.qos: Final = qos
        self.ackquant_ms: Final = ackquant_ms
        self.data: Final = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CrowPacket) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"CrowPacket{self._fields}"

    @property
    def _fields(self) -> tuple[int, bool, bytes, int, int, int, int, bytes]:
        head = self.type, self.is_ack, self.address, self.stage
        return *head, self.seqid, self.qos, self.ackquant_ms, self.data

    @property
    def is_arrived(self) -> bool:
        return self.stage == len(self.address)

    @property
    def return_address(self) -> bytes:
        """Where an answer goes, once the packet has arrived."""
        return self.address[::-1]

    @property
    def timer_s(self) -> float:
        """How long either end waits before it repeats itself."""
        return timer_s(self.ackquant_ms)

    def hop(self, return_hop: bytes) -> "CrowPacket":
        """As the receiving gate sees it: the hop just made replaced by its return hop.

        `return_hop` is in wire order, so backwards: the argument first, the gate's own id last.
        """
        stage = self.stage + len(return_hop)
        if stage > len(self.address):
            raise DecodeError(f"a hop to {stage} runs over the address of {len(self.address)}")
        return CrowPacket(
            self.type,
            self.is_ack,
            self.address[: self.stage] + return_hop + self.address[stage:],
            stage,
            self.seqid,
            self.qos,
            self.ackquant_ms,
            self.data,
        )

    def serialize(self) -> bytes:
        """Under a v1 header; UsageError when a field has no room in it."""
        address, data = self.address, self.data
        address_size = len(address)
        if self.qos > QOS_MAX or self.stage > address_size:
            raise UsageError(self._complaint())
        try:
            header = _pack_v1(
                self.type << 5 | self.is_ack,
                HEADER_SIZE + address_size + len(data),
                address_size,
                self.stage,
                self.seqid,
                _time_code(self.ackquant_ms) << 2 | self.qos,
            )
        except struct.error as error:
            raise UsageError("the packet has no room under a v1 header") from error
        return header + address + data

    def serialize_v0(self) -> bytes:
        """Under a v0 header; UsageError when a field has no room in it."""
        address, data = self.address, self.data
        if self.qos > QOS_MAX or self.stage > len(address):
            raise UsageError(self._complaint())
        try:
            header = _V0.pack(
                self.type << 3 | self.is_ack,
                HEADER_SIZE_V0 + len(address) + len(data),
                len(address),
                self.stage,
                self.ackquant_ms,
                self.seqid,
                self.qos,
            )
        except struct.error as error:
            raise UsageError("the packet has no room under a v0 header") from error
        return header + address + data

    @staticmethod
    def parse(data: bytes) -> "CrowPacket":
        """Read exactly one v1 packet, or raise DecodeError; reserved bits are ignored.

        `ackquant_ms` is what the time code stands for, so it survives being written again.
        """
        if len(data) < HEADER_SIZE:
            raise DecodeError(f"{len(data)} bytes cannot be a packet")
        # Byte by byte: compiled, that creates no temporary objects.
        flags, address_size, stage, quality = data[0], data[3], data[4], data[7]
        size, seqid = data[1] | data[2] << 8, data[5] | data[6] << 8
        body = HEADER_SIZE + address_size
        qos = quality & 3
        if size != len(data) or body > size or stage > address_size or qos > QOS_MAX:
            raise DecodeError(_fault(len(data), size, body, stage, address_size))
        return CrowPacket(
            flags >> 5,
            flags & 1 == 1,
            data[HEADER_SIZE:body],
            stage,
            seqid,
            qos,
            10 * (quality >> 2) + 4,
            data[body:],
        )

    @staticmethod
    def parse_v0(data: bytes) -> "CrowPacket":
        """Read exactly one v0 packet, or raise DecodeError; `noexec` is ignored."""
        if len(data) < HEADER_SIZE_V0:
            raise DecodeError(f"{len(data)} bytes cannot be a packet")
        flags, size, address_size, stage, ackquant_ms, seqid, qos = _V0.unpack_from(data)
        body = HEADER_SIZE_V0 + address_size
        if size != len(data) or body > size or stage > address_size or qos > QOS_MAX:
            raise DecodeError(_fault(len(data), size, body, stage, address_size))
        return CrowPacket(
            flags >> 3,
            flags & 1 == 1,
            data[HEADER_SIZE_V0:body],
            stage,
            seqid,
            qos,
            ackquant_ms,
            data[body:],
        )

    def _complaint(self) -> str:
        return f"no packet has quality {self.qos} and stage {self.stage} of {len(self.address)}"


def _time_code(ackquant_ms: int) -> int:
    # The public implementation cuts to 6 bits, and so repeats after 4 ms when 640 are requested.
    code = (ackquant_ms + 5) // 10
    return code if code < _CODE_MAX else _CODE_MAX


def _fault(received: int, size: int, body: int, stage: int, address_size: int) -> str:
    if size != received:
        return f"length says {size}, received {received}"
    if body > size:
        return f"the address should end at {body}, the packet at {size}"
    if stage > address_size:
        return f"stage {stage} of an address of {address_size}"
    return "there is no such quality of service"
