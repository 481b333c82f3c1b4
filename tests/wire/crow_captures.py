"""What the public C++ implementation put on the wire, as read from tests/vectors/crow.json."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from _pytest.mark import ParameterSet

_TCP_LENGTH_SIZE = 4


class Node(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The subheader of a node packet, as the capture's own decoder saw it."""

    sid: int
    rid: int
    has_more: int
    chunked: int
    type: int
    body: str  # with the chunk id, when there is one


class Decoded(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    ack: int
    type: int
    flen: int
    alen: int
    stg: int
    seqid: int
    qos: int
    addr: str
    data: str
    rsv: int = 0
    bit1: int = 0
    noexec: int = 0
    quant_code: int = 0  # v1
    ackquant: int = 0  # v0
    node: Node | None = None


class Step(msgspec.Struct):
    t: float
    hex: str
    decoded: Decoded
    src_port: int
    dst_port: int
    transport: str = "udp"
    meaning: str = ""

    @property
    def packet(self) -> bytes:
        """The packet itself, without what a stream puts around it."""
        data = bytes.fromhex(self.hex)
        if self.transport == "udp":
            return data
        size = int.from_bytes(data[:_TCP_LENGTH_SIZE], "big")
        assert size == len(data) - _TCP_LENGTH_SIZE
        return data[_TCP_LENGTH_SIZE:]


class Sequence(msgspec.Struct):
    steps: list[Step]


class SerialFrame(msgspec.Struct):
    framed: str
    payload: str
    decoded: Decoded


class SerialCapture(msgspec.Struct):
    frames: list[SerialFrame]


class Framed(msgspec.Struct):
    payload: str
    framed_v1: str
    framed_v0: str


class ReceiverStream(msgspec.Struct):
    context: str
    stream: str
    delivers: list[str]
    note: str


class Gstuff(msgspec.Struct):
    frames: list[Framed]
    receiver_streams: list[ReceiverStream]
    serial_captures: dict[str, SerialCapture]


class G1Era(msgspec.Struct):
    sequences: dict[str, Sequence]


class QuantCode(msgspec.Struct):
    ms: int
    code: int
    byte_qos1: int
    timer_ms: int


class AddressText(msgspec.Struct):
    text: str
    bytes: str | None
    note: str = ""


class Vectors(msgspec.Struct):
    addresses_cpp: list[AddressText]
    addresses_seed_rule: list[AddressText]
    sequences: dict[str, Sequence]
    gstuff: Gstuff
    g1_era_2019_05: G1Era
    seed_date_2018_08_13_layout: dict[str, str]
    quant_codes: list[QuantCode]


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[1] / "vectors" / "crow.json").read_bytes(), type=Vectors
)


def v1_steps() -> list[ParameterSet]:
    """Every packet that was captured under a v1 header, over UDP, TCP or a serial line."""
    serial = VECTORS.gstuff.serial_captures
    lines = {name: line for name, line in serial.items() if not name.startswith("serial_v0")}
    return [*_steps(VECTORS.sequences), *_frames(lines)]


def v0_steps() -> list[ParameterSet]:
    serial = VECTORS.gstuff.serial_captures
    lines = {name: line for name, line in serial.items() if name.startswith("serial_v0")}
    return [*_steps(VECTORS.g1_era_2019_05.sequences), *_frames(lines)]


def _steps(sequences: dict[str, Sequence]) -> Iterator[ParameterSet]:
    for name, sequence in sequences.items():
        for number, step in enumerate(sequence.steps):
            yield pytest.param(step.packet, step.decoded, id=f"{name}-{number}")


def _frames(lines: dict[str, SerialCapture]) -> Iterator[ParameterSet]:
    for name, line in lines.items():
        for number, frame in enumerate(line.frames):
            yield pytest.param(bytes.fromhex(frame.payload), frame.decoded, id=f"{name}-{number}")
