"""Q6: frames against tests/vectors/outbox.json, as docs/protocol/outbox.md has it."""

from pathlib import Path

import msgspec
import pytest

from rookery.errors import DecodeError
from rookery.wire.outbox import Acknowledgement, ErrorFrame, Introduction, Qos, Reply
from rookery.wire.outbox_reader import Frame, OutboxReader
from rookery.wire.outbox_request import RequestFrame
from tests.vectors.make_outbox import vectors

PATH = Path(__file__).parent.parent / "vectors" / "outbox.json"


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
                return Introduction(
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
                return Acknowledgement(self.id)
            case "reply":
                return Reply(self.id, payload)
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
    assert OutboxReader().feed(data) == [vector.value()]


@pytest.mark.parametrize("vector", VECTORS.refused, ids=lambda vector: vector.name)
def test_what_the_page_forbids_is_refused(vector: Refused) -> None:
    with pytest.raises(DecodeError):
        OutboxReader().feed(bytes.fromhex(vector.bytes))


def test_the_file_is_what_its_maker_makes() -> None:
    assert msgspec.json.decode(PATH.read_bytes()) == vectors()
