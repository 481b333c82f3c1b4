"""M2, M10, R7: pings and costs against tests/vectors/mesh-quality.json, as docs/protocol has it."""

from pathlib import Path

import msgspec
import pytest

from rookery.errors import DecodeError
from rookery.mesh.quality.path_quality import PathQuality, StreamMeasure
from rookery.wire.link.frame_types import COMPANION, PING
from rookery.wire.mesh.companion import CompanionFrame, CompanionKind
from rookery.wire.mesh.ping import Ping, PingReport, Pong
from tests.vectors.make_mesh_quality import vectors


class PingVector(msgspec.Struct):
    name: str
    attempt: int
    sequence: int
    sent_us: int
    next_s: int
    heard: int
    history: str
    size: int
    head: str
    body: str
    received_size: int = msgspec.field(name="bytes")


class PongVector(msgspec.Struct):
    name: str
    attempt: int
    sequence: int
    received_us: int
    sent_us: int
    heard: int
    history: str
    size: int
    head: str
    body: str
    received_size: int = msgspec.field(name="bytes")


class BesideVector(msgspec.Struct):
    name: str
    kind: int
    sizes: int
    asks: bool
    attempt: int
    head: str
    body: str


class RefusedVector(msgspec.Struct):
    name: str
    head: str
    body: str


class CostVector(msgspec.Struct):
    name: str
    trips_s: list[float]
    lost_out: int
    lost_in: int
    rate: float | None
    offset_us: int
    srtt_us: float
    rttvar_us: float
    cost_us: int


class Vectors(msgspec.Struct):
    pings: list[PingVector]
    pongs: list[PongVector]
    companion: list[BesideVector] = msgspec.field(name="beside")
    refused: list[RefusedVector]
    costs: list[CostVector]


FILE = Path(__file__).parents[2] / "vectors" / "mesh-quality.json"
VECTORS = msgspec.json.decode(FILE.read_bytes(), type=Vectors)


def test_the_file_is_what_its_maker_makes() -> None:
    assert msgspec.json.decode(FILE.read_bytes()) == vectors()


def name(
    vector: PingVector | PongVector | BesideVector | RefusedVector | CostVector,
) -> str:
    return vector.name


def padded(vector: PingVector | PongVector) -> tuple[bytes, bytes]:
    head = bytes.fromhex(vector.head)
    return head, bytes.fromhex(vector.body).ljust(vector.size - len(head), b"\0")


def report(vector: PingVector | PongVector) -> PingReport:
    return PingReport(vector.heard, int(vector.history, 16), vector.received_size)


@pytest.mark.parametrize("vector", VECTORS.pings, ids=name)
def test_pings(vector: PingVector) -> None:
    ping = Ping(
        attempt=vector.attempt,
        sequence=vector.sequence,
        sent_us=vector.sent_us,
        next_s=vector.next_s,
        report=report(vector),
        size=vector.size,
    )
    assert Ping.parse(*padded(vector)) == ping
    assert ping.serialize() == padded(vector)


@pytest.mark.parametrize("vector", VECTORS.pongs, ids=name)
def test_pongs(vector: PongVector) -> None:
    pong = Pong(
        attempt=vector.attempt,
        sequence=vector.sequence,
        received_us=vector.received_us,
        sent_us=vector.sent_us,
        report=report(vector),
        size=vector.size,
    )
    assert Pong.parse(*padded(vector)) == pong
    assert pong.serialize() == padded(vector)


@pytest.mark.parametrize("vector", VECTORS.companion, ids=name)
def test_words_about_datagrams(vector: BesideVector) -> None:
    head, body = bytes.fromhex(vector.head), bytes.fromhex(vector.body)
    frame = CompanionFrame(CompanionKind(vector.kind), vector.attempt, vector.sizes, vector.asks)
    assert CompanionFrame.parse(head, body) == frame
    assert frame.serialize() == (head, body)


@pytest.mark.parametrize("vector", VECTORS.refused, ids=name)
def test_what_is_refused(vector: RefusedVector) -> None:
    head, body = bytes.fromhex(vector.head), bytes.fromhex(vector.body)
    parse = {PING: Ping.parse, COMPANION: CompanionFrame.parse}.get(head[0], Pong.parse)
    with pytest.raises(DecodeError):
        parse(head, body)


@pytest.mark.parametrize("vector", VECTORS.costs, ids=name)
def test_costs(vector: CostVector) -> None:
    """R7: 32 pings each way, of which so many did not arrive."""
    quality = PathQuality()
    for sequence, trip_s in enumerate(vector.trips_s, 1):
        quality.sent(sequence, 0.0)
        quality.answered(sequence, 0, 0, trip_s)
    for sequence in range(100, 132):
        quality.sent(sequence, 1.0)
    if vector.lost_out:
        # The first and the last of them came, so that exactly these 32 are counted.
        came = (1 << 32) - 1 - ((1 << vector.lost_out) - 1 << 1)
        quality.report_received(PingReport(131, came), 0, 1.1, is_limited=False)
    for sequence in [100, *range(101 + vector.lost_in, 132)]:
        quality.ping_received(sequence, 0, 1.0)
    if vector.rate is not None:
        measure = StreamMeasure(0.0, 0.0, 0, 0, vector.rate, is_app_limited=False)
        quality.stream_measured(measure, 1.0)
    assert quality.srtt_s is not None
    assert quality.srtt_s * 1e6 == pytest.approx(vector.srtt_us, abs=0.01)
    assert quality.rttvar_s * 1e6 == pytest.approx(vector.rttvar_us, abs=0.01)
    assert quality.cost_us(1.1, vector.offset_us) == pytest.approx(vector.cost_us, abs=1)
