"""A fuzz target: any bytes in; what it may raise is the other side's fault, all else a finding."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rookery.errors import RemoteError, RookeryError
from rookery.wire.link.lob import JsonObject, Packet

Fuzzed = Callable[[bytes], object]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Target:
    """`allowed` is what callers of the parser expect beside RemoteError."""

    run: Fuzzed
    allowed: tuple[type[RookeryError], ...] = ()

    def __call__(self, data: bytes) -> None:
        try:
            self.run(data)
        except RookeryError as error:
            if not isinstance(error, (RemoteError, *self.allowed)):
                raise


def again(parse: Callable[[bytes], Value], write: Callable[[Value], bytes]) -> Fuzzed:
    """What was read is read the same after it was written."""

    def run(data: bytes) -> None:
        value = parse(data)
        assert parse(write(value)) == value, value

    return run


def framed(
    parse: Callable[[bytes, bytes], Value],
    write: Callable[[Value], tuple[bytes, bytes]] | None = None,
) -> Fuzzed:
    """A parser of head and body; the first byte is the size of the head."""

    def run(data: bytes) -> None:
        end = 1 + (data[0] if data else 0)
        value = parse(data[1:end], data[end:])
        if write is not None:
            assert parse(*write(value)) == value, value

    return run


def texts(parse: Callable[[str], object]) -> Fuzzed:
    return lambda data: parse(data.decode(errors="replace"))


def heads(parse: Callable[[JsonObject], object]) -> Fuzzed:
    return lambda data: parse(Packet(data).json)


def packets(parse: Callable[[JsonObject, bytes], object]) -> Fuzzed:
    def run(data: bytes) -> object:
        packet = Packet.parse(data)
        return parse(packet.json, packet.body)

    return run


def pieces(new: Callable[[], Callable[[bytes], Sequence[object]]]) -> Fuzzed:
    """However a stream is cut, the same comes out of it; the first byte says where."""

    def run(data: bytes) -> None:
        at, data = data[0] if data else 0, data[1:]
        whole = _owned(new()(data))
        feed = new()
        assert [*_owned(feed(data[:at])), *_owned(feed(data[at:]))] == whole, whole

    return run


def _owned(parts: Sequence[object]) -> list[object]:
    return [bytes(part) if isinstance(part, memoryview) else part for part in parts]
