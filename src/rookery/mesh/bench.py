"""Bench: what a stream to service `bench` may ask for, and within which limits.

{"do":"sink","seconds":5,"bytes":1000000000}      take what I send; at its end, say how much came
{"do":"source","seconds":5,"bytes":1000000000}    send as much as you can
{"do":"echo","seconds":5}                         send back what I send
{"do":"ways"}                                     say how your tunnel with me uses its paths
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated

import msgspec

from rookery.errors import DecodeError
from rookery.wire.link.lob import JsonObject

SECONDS_MAX = 60.0
BYTES_MAX = 1 << 34
ECHO_BYTES_MAX = 1 << 24
ANSWER_SIZE_MAX = 4096


class BenchAction(Enum):
    """What a request has the member do."""

    SINK = "sink"
    SOURCE = "source"
    ECHO = "echo"
    PATHS = "ways"


class BenchAnswer(Enum):
    """The first byte of every answer."""

    GO = 0
    BUSY = 1
    OFF = 2
    INVALID = 3

    @property
    def byte(self) -> bytes:
        return bytes([self.value])

    @classmethod
    def parse(cls, data: bytes) -> "BenchAnswer":
        """DecodeError for a byte that is none."""
        try:
            return cls(int.from_bytes(data, "big"))
        except ValueError as error:
            raise DecodeError("an answer that nobody knows") from error


class BenchRequest(msgspec.Struct, frozen=True):
    """The metadata of the opening."""

    do: BenchAction
    seconds: Annotated[float, msgspec.Meta(gt=0, le=SECONDS_MAX)] = SECONDS_MAX
    bytes: Annotated[int, msgspec.Meta(gt=0, le=BYTES_MAX)] = BYTES_MAX

    def meta(self) -> JsonObject:
        return {"do": self.do.value, "seconds": self.seconds, "bytes": self.bytes}

    @classmethod
    def parse(cls, meta: Mapping[str, object]) -> "BenchRequest":
        """DecodeError for an impossible request."""
        try:
            return msgspec.convert(dict(meta), cls)
        except msgspec.ValidationError as error:
            raise DecodeError(f"no request for a bench: {error}") from error


class BenchReceived(msgspec.Struct, frozen=True):
    """A sink's answer."""

    bytes: Annotated[int, msgspec.Meta(ge=0)]


class BenchPathFigures(msgspec.Struct, frozen=True):
    """One path, as reported by the end that sends over it; counts since it came up."""

    path: Annotated[str, msgspec.Meta(max_length=256)] = msgspec.field(name="way")
    sent_bytes: Annotated[int, msgspec.Meta(ge=0)]
    lost_packets: Annotated[int, msgspec.Meta(ge=0)]
    rtt_ms: float
    rate_bytes_s: float


class BenchPathsAnswer(msgspec.Struct, frozen=True):
    paths: tuple[BenchPathFigures, ...] = msgspec.field(name="ways")


def serialize_answer(answer: BenchReceived | BenchPathsAnswer) -> bytes:
    return msgspec.json.encode(answer)


def parse_received(data: bytes) -> BenchReceived:
    try:
        return msgspec.json.decode(data, type=BenchReceived)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("it does not say what it received") from error


def parse_paths(data: bytes) -> tuple[BenchPathFigures, ...]:
    try:
        return msgspec.json.decode(data, type=BenchPathsAnswer).paths
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("it does not say which paths it uses") from error


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of them does not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    rank = -(-len(ordered) * share // 1)  # rounded up
    return ordered[max(0, int(rank) - 1)]


def figures_since(
    before: Sequence[BenchPathFigures], after: Sequence[BenchPathFigures]
) -> tuple[BenchPathFigures, ...]:
    """What was sent between two answers; a path that came back counts anew."""
    known = {figures.path: figures for figures in before}
    sent = []
    for figures in after:
        former = known.get(figures.path)
        if former is not None and former.sent_bytes <= figures.sent_bytes:
            figures = msgspec.structs.replace(
                figures,
                sent_bytes=figures.sent_bytes - former.sent_bytes,
                lost_packets=max(0, figures.lost_packets - former.lost_packets),
            )
        sent.append(figures)
    return tuple(sent)
