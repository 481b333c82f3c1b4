"""M4: packets against tests/vectors/tunnel.json, as docs/protocol/tunnel.md has it."""

from pathlib import Path

import msgspec
import pytest

from rookery.errors import DecodeError
from rookery.wire.lob import JsonObject
from rookery.wire.opening import Opening
from rookery.wire.tunnel import TunnelPacket
from rookery.wire.tunnel_data import Ack, Data
from rookery.wire.tunnel_frames import Close, Credit, Datagram, Frame, Opens, Probe, Reset, Stop
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
            "data": Data(self.stream, self.offset, bytes.fromhex(self.data), self.fin),
            "ack": Ack(self.way, self.ranges, self.delay_us, self.marks),
            "credit": Credit(self.stream, self.maximum),
            "opens": Opens(self.maximum),
            "reset": Reset(self.stream, self.code, self.size),
            "stop": Stop(self.stream, self.code),
            "datagram": Datagram(bytes.fromhex(self.data)),
            "probe": Probe(),
            "close": Close(self.code, self.reason),
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
    opening = Opening(vector.service, vector.meta, vector.priority)
    assert Opening.parse(bytes.fromhex(vector.data)) == opening
    assert opening.serialize().hex() == vector.data


@pytest.mark.parametrize("vector", VECTORS.refused, ids=name)
def test_what_is_refused(vector: RefusedVector) -> None:
    with pytest.raises(DecodeError):
        TunnelPacket.parse(bytes.fromhex(vector.head), bytes.fromhex(vector.body))
