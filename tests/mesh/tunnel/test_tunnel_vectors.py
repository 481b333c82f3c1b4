"""M4: packets against tests/vectors/tunnel.json, as docs/protocol/tunnel.md has it."""

from pathlib import Path

import msgspec
import pytest

from rookery.errors import DecodeError
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.stream_opening import StreamOpening
from rookery.wire.mesh.tunnel_data import TunnelAck, TunnelData
from rookery.wire.mesh.tunnel_frames import (
    Frame,
    TunnelClose,
    TunnelCredit,
    TunnelDatagram,
    TunnelOpens,
    TunnelProbe,
    TunnelReset,
    TunnelStop,
)
from rookery.wire.mesh.tunnel_packet import TunnelPacket
from tests.vectors.make_tunnel import vectors


class FrameVector(msgspec.Struct):
    frame: str
    stream: int = 0
    offset: int = 0
    data: str = ""
    fin: bool = False
    way: int = 0
    delay_us: int = 0
    marks: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    maximum: int = 0
    code: int = 0
    size: int = 0
    reason: str = ""

    @property
    def value(self) -> Frame:
        values: dict[str, Frame] = {
            "data": TunnelData(self.stream, self.offset, bytes.fromhex(self.data), self.fin),
            "ack": TunnelAck(self.way, self.ranges, self.delay_us, self.marks),
            "credit": TunnelCredit(self.stream, self.maximum),
            "opens": TunnelOpens(self.maximum),
            "reset": TunnelReset(self.stream, self.code, self.size),
            "stop": TunnelStop(self.stream, self.code),
            "datagram": TunnelDatagram(bytes.fromhex(self.data)),
            "probe": TunnelProbe(),
            "close": TunnelClose(self.code, self.reason),
        }
        return values[self.frame]


class PacketVector(msgspec.Struct):
    name: str
    tunnel: str
    way: int
    number: int
    is_first: bool
    frames: list[FrameVector]
    head: str
    body: str


class OpeningVector(msgspec.Struct):
    service: str
    meta: JsonObject
    priority: int
    data: str = msgspec.field(name="bytes")


class RefusedVector(msgspec.Struct):
    name: str
    head: str
    body: str


class Vectors(msgspec.Struct):
    packets: list[PacketVector]
    openings: list[OpeningVector]
    refused: list[RefusedVector]


FILE = Path(__file__).parent.parent.parent / "vectors" / "tunnel.json"
VECTORS = msgspec.json.decode(FILE.read_bytes(), type=Vectors)


def name(vector: PacketVector | RefusedVector) -> str:
    return vector.name


def test_the_file_is_what_its_maker_makes() -> None:
    assert msgspec.json.decode(FILE.read_bytes()) == vectors()


@pytest.mark.parametrize("vector", VECTORS.packets, ids=name)
def test_packets(vector: PacketVector) -> None:
    head, body = bytes.fromhex(vector.head), bytes.fromhex(vector.body)
    packet = TunnelPacket(
        int(vector.tunnel, 16),
        vector.way,
        vector.number,
        [frame.value for frame in vector.frames],
        vector.is_first,
    )
    assert TunnelPacket.parse(head, body) == packet
    assert packet.serialize() == (head, body)


@pytest.mark.parametrize("vector", VECTORS.openings, ids=lambda vector: vector.service)
def test_openings(vector: OpeningVector) -> None:
    opening = StreamOpening(vector.service, vector.meta, vector.priority)
    assert StreamOpening.parse(bytes.fromhex(vector.data)) == opening
    assert opening.serialize().hex() == vector.data


@pytest.mark.parametrize("vector", VECTORS.refused, ids=name)
def test_what_is_refused(vector: RefusedVector) -> None:
    with pytest.raises(DecodeError):
        TunnelPacket.parse(bytes.fromhex(vector.head), bytes.fromhex(vector.body))
