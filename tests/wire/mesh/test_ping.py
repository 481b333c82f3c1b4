"""M2: the codec of beats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import PING, PONG
from rookery.wire.mesh.ping import DATA_SIZE, SMALL_SIZE, Ping, PingReport, Pong

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
SIZES = st.integers(SMALL_SIZE, DATA_SIZE)


@st.composite
def reports(draw: st.DrawFn) -> PingReport:
    heard = draw(U32)
    if heard == 0:
        return PingReport(received_size=draw(U64))
    return PingReport(heard, draw(U64) & ((1 << min(heard, 64)) - 1) | 1, draw(U64))


@st.composite
def pings(draw: st.DrawFn) -> Ping:
    return Ping(
        attempt=draw(U32),
        sequence=draw(st.integers(1, 2**32 - 1)),
        sent_us=draw(U64),
        next_s=draw(st.integers(0, 255)),
        report=draw(reports()),
        size=draw(SIZES),
    )


@st.composite
def pongs(draw: st.DrawFn) -> Pong:
    return Pong(
        attempt=draw(U32),
        sequence=draw(st.integers(1, 2**32 - 1)),
        received_us=draw(U64),
        sent_us=draw(U64),
        report=draw(reports()),
        size=draw(SIZES),
    )


@given(pings())
def test_a_ping_survives_the_wire(ping: Ping) -> None:
    """M2"""
    head, body = ping.serialize()
    assert len(head) + len(body) == ping.size
    assert Ping.parse(head, body) == ping


@given(pongs())
def test_a_pong_survives_the_wire(pong: Pong) -> None:
    """M2"""
    head, body = pong.serialize()
    assert len(head) + len(body) == pong.size
    assert Pong.parse(head, body) == pong


@given(st.sampled_from([PING, PONG]), st.binary(max_size=2), st.binary(max_size=80))
def test_arbitrary_bytes_parse_or_raise_decode_error(kind: int, rest: bytes, body: bytes) -> None:
    head = bytes((kind,)) + rest
    frame: Ping | Pong
    try:
        frame = Ping.parse(head, body) if kind == PING else Pong.parse(head, body)
    except DecodeError:
        return
    assert frame.serialize() == (head, body)


def a_ping(size: int = SMALL_SIZE, report: PingReport | None = None) -> tuple[bytes, bytes]:
    report = report or PingReport()
    return Ping(sequence=7, sent_us=1, next_s=1, report=report, size=size).serialize()


def test_what_is_smaller_or_larger_than_a_beat_is_none() -> None:
    head, body = a_ping()
    with pytest.raises(DecodeError, match="cannot be a beat"):
        Ping.parse(head, body[:-1])
    head, body = a_ping(DATA_SIZE)
    with pytest.raises(DecodeError, match="cannot be a beat"):
        Ping.parse(head, body + b"\0")


def test_a_ping_is_no_pong() -> None:
    with pytest.raises(DecodeError, match="cannot be a beat"):
        Pong.parse(*a_ping())


def test_padding_is_zero() -> None:
    head, body = a_ping(DATA_SIZE)
    with pytest.raises(DecodeError, match="padding"):
        Ping.parse(head, body[:-1] + b"\1")


def test_there_is_no_beat_number_0() -> None:
    head, body = a_ping()
    with pytest.raises(DecodeError, match="numbered from 1"):
        Ping.parse(head, body[:4] + bytes(4) + body[8:])


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(PingReport(5, 0b10), id="the last one heard was not heard"),
        pytest.param(PingReport(2, 0b101), id="number 0 was heard"),
        pytest.param(PingReport(0, 1), id="nothing was heard, yet something"),
    ],
)
def test_a_history_that_contradicts_itself_is_refused(report: PingReport) -> None:
    with pytest.raises(DecodeError, match="contradicts"):
        Ping.parse(*a_ping(report=report))
