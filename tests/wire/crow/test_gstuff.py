"""C2, C8: serial framing against the captures of the public implementation."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rookery.wire.crow.gstuff import V0, V1, GstuffDeframer, GstuffVariant, frame
from tests.wire.crow_captures import VECTORS, Framed, ReceiverStream, SerialCapture

CONTEXTS = {"v0": V0, "v1": V1}
GOOD = bytes.fromhex("0102030405")
# Where the public receiver stays out of step; we find our way back as those of 2018 did.
DEFECTS = {
    "acac0102030405fbac": [GOOD],
    "acac0102030405fbacac0102030405fbacac0102030405fbac": [GOOD, GOOD, GOOD],
}

contexts = st.sampled_from([V0, V1])
# Symbols and their codes, and little else: the bytes that matter.
noise = st.lists(
    st.sampled_from(b"\xa8\xb2\xc5\x8a\x2b\x5c\xac\xad\xae\xaf\x00\xff"), max_size=40
).map(bytes)


def fed(deframer: GstuffDeframer, stream: bytes, step: int) -> list[bytes]:
    received = []
    for at in range(0, len(stream), step):
        received += deframer.feed(stream[at : at + step])
    return received


@pytest.mark.parametrize("framed", VECTORS.gstuff.frames, ids=lambda framed: framed.payload)
def test_frames_are_as_captured(framed: Framed) -> None:
    """C8"""
    payload = bytes.fromhex(framed.payload)
    for context, text in ((V1, framed.framed_v1), (V0, framed.framed_v0)):
        stream = bytes.fromhex(text)
        assert frame(payload, context) == stream
        assert GstuffDeframer(context, 512).feed(stream) == [payload]


@pytest.mark.parametrize("step", [1, 2, 100])
@pytest.mark.parametrize("case", VECTORS.gstuff.receiver_streams, ids=lambda case: case.stream)
def test_streams_are_received_as_captured(case: ReceiverStream, step: int) -> None:
    """C8"""
    wanted = DEFECTS.get(case.stream, [bytes.fromhex(payload) for payload in case.delivers])
    deframer = GstuffDeframer(CONTEXTS[case.context], 512)
    assert fed(deframer, bytes.fromhex(case.stream), step) == wanted


@pytest.mark.parametrize(("name", "capture"), VECTORS.gstuff.serial_captures.items())
def test_serial_captures_are_read_and_written_again(name: str, capture: SerialCapture) -> None:
    """C2, C8"""
    context = V0 if name.endswith("_g0") else V1
    payloads = [bytes.fromhex(captured.payload) for captured in capture.frames]
    framed = [bytes.fromhex(captured.framed) for captured in capture.frames]
    assert [frame(payload, context) for payload in payloads] == framed
    deframer = GstuffDeframer(context, 512)
    assert fed(deframer, b"".join(framed), 7) == payloads
    assert (deframer.damaged, deframer.oversized) == (0, 0)


@given(contexts, st.lists(st.binary(max_size=50) | noise, max_size=6), st.integers(1, 60))
def test_payloads_survive_any_cut_of_the_stream(
    context: GstuffVariant, payloads: list[bytes], step: int
) -> None:
    stream = b"".join(frame(payload, context) for payload in payloads)
    assert fed(GstuffDeframer(context, 50), stream, step) == payloads


@given(contexts, noise | st.binary(max_size=100), st.integers(1, 60))
def test_after_any_noise_the_very_next_frame_arrives(
    context: GstuffVariant, before: bytes, step: int
) -> None:
    """C2"""
    received = fed(GstuffDeframer(context, 30), before + frame(GOOD, context), step)
    assert received[-1:] == [GOOD]


@given(contexts, st.binary(min_size=1, max_size=40), st.data())
def test_a_changed_byte_is_noticed(
    context: GstuffVariant, payload: bytes, data: st.DataObject
) -> None:
    """C2: symbols aside, which cut a frame instead."""
    stream = bytearray(frame(payload, context))
    assume(len(stream) == len(payload) + 3)
    at = data.draw(st.integers(1, len(stream) - 2))
    symbols = context.start + context.stop + context.stub
    others = [byte for byte in range(256) if byte != stream[at] and byte not in symbols]
    stream[at] = data.draw(st.sampled_from(others))
    deframer = GstuffDeframer(context, 512)
    assert deframer.feed(bytes(stream)) == []
    assert deframer.damaged == 1


def test_an_unescaped_symbol_after_an_escape_ends_the_frame() -> None:
    deframer = GstuffDeframer(V1, 512)
    assert deframer.feed(b"\xa8\x01\xc5\xb2" + frame(GOOD)) == [GOOD]
    assert deframer.feed(b"\xa8\x01\xc5" + frame(GOOD)) == [GOOD]
    assert deframer.feed(b"\xa8\xc5\xc5" + frame(GOOD)[1:]) == [GOOD]
    assert deframer.damaged == 2


def test_an_unknown_escape_empties_the_frame() -> None:
    """C8: what follows it may be whole."""
    deframer = GstuffDeframer(V1, 512)
    assert deframer.feed(b"\xa8\x07\x07\xc5\x01" + frame(GOOD)[1:]) == [GOOD]


def test_an_escape_of_nothing_is_no_byte() -> None:
    """The CRC of CF is the escape itself, which has to be escaped."""
    assert GstuffDeframer(V1, 512).feed(b"\xa8\xcf\xc5\xb2") == []


@pytest.mark.parametrize("check", [b"\xac", b"\xad"])
def test_a_check_that_was_not_escaped_costs_no_other_frame(check: bytes) -> None:
    """C8: an older sender escapes the payload only."""
    escaped = {b"\xac": b"\xad\xae", b"\xad": b"\xad\xaf"}[check]
    frames = (frame(bytes([byte]), V0) for byte in range(128))
    ours = next(each for each in frames if each.endswith(escaped + b"\xac"))
    theirs = ours.replace(escaped, check)
    deframer = GstuffDeframer(V0, 512)
    assert deframer.feed(theirs + frame(GOOD, V0)) == [GOOD]
    assert deframer.damaged == 1


def test_noise_between_frames_is_skipped() -> None:
    for context in (V0, V1):
        deframer = GstuffDeframer(context, 512)
        stream = b"\x01\x02" + frame(GOOD, context) + b"\x03\x04" + frame(GOOD, context)
        assert deframer.feed(stream) == [GOOD, GOOD]


def test_a_lost_stop_costs_the_older_symbols_nothing() -> None:
    deframer = GstuffDeframer(V0, 512)
    assert deframer.feed(frame(b"one", V0)[:-1] + frame(b"two", V0)) == [b"one", b"two"]
    assert deframer.damaged == 0


def test_a_lost_stop_costs_one_frame_otherwise() -> None:
    deframer = GstuffDeframer(V1, 512)
    assert deframer.feed(frame(b"one")[:-1] + frame(b"two")) == [b"two"]
    assert deframer.damaged == 1


@pytest.mark.parametrize("context", [V0, V1])
@pytest.mark.parametrize("byte", [b"\x01", b"\xc5", b"\xad"])
def test_payloads_up_to_the_bound_pass_and_no_larger_ones(
    context: GstuffVariant, byte: bytes
) -> None:
    """C2"""
    deframer = GstuffDeframer(context, 16)
    assert deframer.feed(frame(byte * 16, context)) == [byte * 16]
    for size in (17, 33, 500):
        assert deframer.feed(frame(byte * size, context)) == []
    assert deframer.oversized == 3
    assert deframer.feed(frame(GOOD, context)) == [GOOD]


@pytest.mark.parametrize("context", [V0, V1])
def test_a_frame_without_end_is_given_up(context: GstuffVariant) -> None:
    """C2: counted once, however long it goes on, and nothing of it is kept."""
    deframer = GstuffDeframer(context, 16)
    deframer.feed(context.start)
    for _ in range(1000):
        assert deframer.feed(bytes(100)) == []
    assert deframer.oversized == 1
    assert deframer.feed(frame(GOOD, context)) == [GOOD]


@given(contexts, st.lists(st.binary(max_size=80) | noise, max_size=8))
def test_arbitrary_bytes_yield_only_payloads_within_the_bound(
    context: GstuffVariant, pieces: list[bytes]
) -> None:
    deframer = GstuffDeframer(context, 10)
    for piece in pieces:
        assert all(len(payload) <= 10 for payload in deframer.feed(piece))
