"""Q6: frames against tests/vectors/outbox.json, as docs/protocol/outbox.md has it."""

from pathlib import Path

import msgspec
import pytest

from rookery.errors import DecodeError
from rookery.wire.outbox.frames import (
    AcknowledgementFrame,
    ErrorFrame,
    IntroductionFrame,
    Qos,
    ReplyFrame,
)
from rookery.wire.outbox.reader import Frame, OutboxFrameReader
from rookery.wire.outbox.request import RequestFrame
from tests.vectors.make_outbox import vectors

PATH = Path(__file__).parents[2] / "vectors" / "outbox.json"


class FrameVector(msgspec.Struct):
    frame: str
    bytes: str
    hashname: str = ""
    epoch: int = 0
    memory: int = 0
    heard: int = 0
    handled: int = 0
    requests_max: int = 0
    bytes_max: int = 0
    id: int = 0
    qos: int = 0
    wants_reply: bool = False
    floor: int = 0
    payload: str = ""
    code: int = 0
    text: str = ""

    def value(self) -> Frame:
        payload = bytes.fromhex(self.payload)
        match self.frame:
            case "introduction":
                return IntroductionFrame(
                    bytes.fromhex(self.hashname),
                    self.epoch,
                    self.memory,
                    self.heard,
                    self.handled,
                    self.requests_max,
                    self.bytes_max,
                )
            case "request":
                return RequestFrame(self.id, Qos(self.qos), self.wants_reply, self.floor, payload)
            case "acknowledgement":
                return AcknowledgementFrame(self.id)
            case "reply":
                return ReplyFrame(self.id, payload)
        return ErrorFrame(self.id, self.code, self.text)


class Refused(msgspec.Struct):
    name: str
    bytes: str


class Vectors(msgspec.Struct):
    frames: list[FrameVector]
    refused: list[Refused]


VECTORS = msgspec.json.decode(PATH.read_bytes(), type=Vectors)


@pytest.mark.parametrize("vector", VECTORS.frames, ids=lambda vector: vector.bytes[:24])
def test_frames_are_as_the_page_says(vector: FrameVector) -> None:
    data = bytes.fromhex(vector.bytes)
    assert vector.value().serialize() == data
    assert OutboxFrameReader().feed(data) == [vector.value()]


@pytest.mark.parametrize("vector", VECTORS.refused, ids=lambda vector: vector.name)
def test_what_the_page_forbids_is_refused(vector: Refused) -> None:
    with pytest.raises(DecodeError):
        OutboxFrameReader().feed(bytes.fromhex(vector.bytes))


def test_the_file_is_what_its_maker_makes() -> None:
    assert msgspec.json.decode(PATH.read_bytes()) == vectors()
