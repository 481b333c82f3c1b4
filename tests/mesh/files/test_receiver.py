"""A transfer at its receiving end: whole and right, or not at all, wherever it is cut."""

from collections.abc import Iterator
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.mesh.files.fault import CopyError, CopyRefusedError, FileFault
from rookery.mesh.files.receiver import FileReceiver, FinishFile, StoreChunk
from rookery.wire.mesh.file_frames import (
    Frame,
    FrameReader,
    TransferFailed,
    TransferHave,
    TransferStart,
    TransferStored,
    TransferWhole,
    data_header,
    message_frame,
)


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def sent(source: bytes, have: TransferHave, block_size: int = 7) -> Iterator[bytes]:
    """What an honest sender says to one who has this much."""
    offset = have.size if digest(source[: have.size]) == have.digest else 0
    offset = offset if have.size <= len(source) else 0
    yield message_frame(TransferStart(len(source), offset))
    for at in range(offset, len(source), block_size):
        block = source[at : at + block_size]
        yield data_header(len(block)) + block
    yield message_frame(TransferWhole(digest(source)))


class Receiver:
    """A disk that keeps its part through every interruption."""

    def __init__(self, part: bytes = b"") -> None:
        self.part = part
        self.target: bytes | None = None

    @property
    def have(self) -> TransferHave:
        return TransferHave(len(self.part), digest(self.part))

    def receive(self, stream: bytes, size: int | None = None) -> None:
        receiving, reader = FileReceiver(len(self.part), size), FrameReader()
        for frame in reader.feed(stream):
            match receiving.handle(frame):
                case TransferStart(_, offset):
                    self.part = self.part[:offset]
                case StoreChunk(data):
                    self.part += data
                case FinishFile(whole) if whole == digest(self.part):
                    self.target = self.part
                case _:
                    raise AssertionError("a wrong digest of an honest sender")


@given(st.binary(max_size=60), st.data())
def test_a_transfer_cut_at_any_byte_goes_on_where_it_stopped(
    source: bytes, data: st.DataObject
) -> None:
    receiver = Receiver()
    for _ in range(data.draw(st.integers(0, 4))):
        stream = b"".join(sent(source, receiver.have))
        before = len(receiver.part)
        receiver.receive(stream[: data.draw(st.integers(0, len(stream) - 1))], len(source))
        assert receiver.target is None
        assert before <= len(receiver.part) <= len(source)
    receiver.receive(b"".join(sent(source, receiver.have)), len(source))
    assert receiver.target == source


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_whatever_lies_in_the_part_the_file_is_the_senders(source: bytes, part: bytes) -> None:
    """Tampered with, of another file, or of one that was changed since."""
    receiver = Receiver(part)
    receiver.receive(b"".join(sent(source, receiver.have)))
    assert receiver.target == source


@given(st.binary(max_size=60), st.binary(max_size=60), st.data())
def test_a_source_that_changed_between_two_tries_is_copied_as_it_is_now(
    before: bytes, after: bytes, data: st.DataObject
) -> None:
    receiver = Receiver()
    stream = b"".join(sent(before, receiver.have))
    receiver.receive(stream[: data.draw(st.integers(0, len(stream) - 1))])
    receiver.receive(b"".join(sent(after, receiver.have)))
    assert receiver.target == after


def fault_of(*frames: Frame, have: int = 0, size: int | None = None) -> FileFault:
    receiving = FileReceiver(have, size)
    *before, last = frames
    for frame in before:
        receiving.handle(frame)
    with pytest.raises(CopyError) as caught:
        receiving.handle(last)
    return caught.value.fault


def test_no_byte_beyond_what_was_announced_is_taken() -> None:
    assert fault_of(TransferStart(3, 0), b"ab", b"cd") is FileFault.SIZE
    assert fault_of(TransferStart(3, 3), b"x", have=3) is FileFault.SIZE


def test_an_end_before_the_end_is_none() -> None:
    assert fault_of(TransferStart(3, 0), b"ab", TransferWhole(digest(b"ab"))) is FileFault.SIZE


def test_another_size_than_announced_is_refused() -> None:
    assert fault_of(TransferStart(4, 0), size=3) is FileFault.CHANGED


def test_a_sender_that_gives_up_says_why() -> None:
    receiving = FileReceiver(0)
    with pytest.raises(CopyRefusedError) as caught:
        receiving.handle(TransferFailed("missing"))
    assert caught.value.fault is FileFault.MISSING
    assert receiving.is_over


@pytest.mark.parametrize(
    "frames",
    [
        [b"early"],
        [TransferWhole(digest(b""))],
        [TransferStored()],
        [TransferStart(9, 4)],
        [TransferStart(2, 3)],
        [TransferStart(9, 0), TransferStart(9, 0)],
        [TransferStart(0, 0), TransferWhole(digest(b"")), b"late"],
        [TransferStart(0, 0), TransferHave(0, digest(b""))],
    ],
)
def test_frames_out_of_place_are_refused(frames: list[Frame]) -> None:
    receiving = FileReceiver(3)
    *before, last = frames
    for frame in before:
        receiving.handle(frame)
    with pytest.raises(DecodeError):
        receiving.handle(last)
