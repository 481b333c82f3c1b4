"""M4: reassembly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import ProtocolError
from rookery.mesh.tunnel.streams.receive_half import ReceiveHalf


@given(st.data())
def test_overlapping_pieces_in_any_order_become_the_stream(data: st.DataObject) -> None:
    """M4: byte-exact, whatever was repeated."""
    scale = data.draw(st.sampled_from([1, 700, 40_000]))
    text = bytes(index * 31 % 251 for index in range(60)) * scale
    half, read = ReceiveHalf(), bytearray()
    size = len(text) // scale
    for _ in range(data.draw(st.integers(0, 25))):
        start = data.draw(st.integers(0, size)) * scale
        end = min(start + data.draw(st.integers(0, 20)) * scale, len(text))
        half.accept(start, memoryview(text)[start:end], fin=end == len(text))
        if data.draw(st.booleans()):
            read += half.read(data.draw(st.integers(1, 2 * len(text))))
    half.accept(0, text, fin=True)
    assert half.is_complete
    assert half.pieces == 0
    while part := half.read(7 * scale):
        read += part
    assert bytes(read) == text
    assert half.is_over
    assert half.read(1) == b""


@pytest.mark.parametrize("offset", [0, 10])
def test_a_small_part_of_a_large_packet_does_not_keep_the_packet(offset: int) -> None:
    """A peer could otherwise have us hold many times what its credit allows."""
    half, packet = ReceiveHalf(), bytearray(245_760)
    half.accept(offset, memoryview(packet)[:60_000], fin=False)
    packet.clear()  # which is not possible while anybody has a view of it


def test_most_of_a_packet_is_kept_as_it_is() -> None:
    half, packet = ReceiveHalf(), bytearray(245_760)
    half.accept(0, memoryview(packet)[36:], fin=False)
    with pytest.raises(BufferError):
        packet.clear()


def test_what_came_twice_is_counted() -> None:
    half = ReceiveHalf()
    half.accept(0, b"abcd", fin=False)
    half.accept(2, b"cdef", fin=False)
    half.accept(8, b"ij", fin=False)
    half.accept(7, b"hijk", fin=False)
    assert half.overlapping == 2 + 2
    assert half.read(100) == b"abcdef"


def test_the_first_of_two_contradicting_copies_counts() -> None:
    half = ReceiveHalf()
    half.accept(4, b"last", fin=True)
    half.accept(0, b"bentBENT", fin=True)
    assert half.read(8) == b"bentlast"


def test_small_pieces_share_memory() -> None:
    half = ReceiveHalf()
    for offset in range(1, 5000):
        half.accept(offset, b"x", fin=False)
    assert half.pieces == 1
    for offset in range(10_000, 12_000, 2):
        half.accept(offset, b"x", fin=False)
    assert half.pieces == 1001
    half.accept(0, b"y", fin=False)
    assert half.read(9999) == b"y" + b"x" * 4999


@pytest.mark.parametrize(
    ("first", "second"),
    [((0, b"abc", True), (3, b"d", False)), ((0, b"abc", True), (0, b"ab", True))],
)
def test_a_stream_has_one_end(
    first: tuple[int, bytes, bool], second: tuple[int, bytes, bool]
) -> None:
    half = ReceiveHalf()
    half.accept(first[0], first[1], fin=first[2])
    with pytest.raises(ProtocolError, match="two ends"):
        half.accept(second[0], second[1], fin=second[2])


def test_a_stream_does_not_end_before_what_came_of_it() -> None:
    half = ReceiveHalf()
    half.accept(0, b"abc", fin=False)
    with pytest.raises(ProtocolError, match="ends before"):
        half.accept(0, b"ab", fin=True)


def test_a_reset_ends_it_and_frees_what_waited() -> None:
    half = ReceiveHalf()
    half.accept(0, b"abc", fin=False)
    half.accept(5, b"f", fin=False)
    half.reset(3, 10)
    assert half.is_over
    assert half.read(10) == b""
    assert (half.pieces, half.highest, half.read_to) == (0, 10, 10)
    half.accept(6, b"g", fin=False)
    assert half.read(10) == b""


def test_what_nobody_will_read_counts_as_read() -> None:
    half = ReceiveHalf()
    half.accept(0, b"abc", fin=False)
    half.stop()
    assert half.read_to == 3
    half.accept(3, b"de", fin=True)
    assert half.read(9) == b""
    assert half.read_to == 5
    assert half.is_over
