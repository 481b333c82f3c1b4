"""M11: what becomes of a datagram, by class and by what works."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.quality.datagram_policy import (
    QUEUE_SIZE_MAX,
    SIZES_MAX,
    DatagramFate,
    DatagramPolicy,
    StreamEstimate,
)
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.ping import DATA_SIZE

DROP, FALLBACK, RELIABLE_OK = (
    DatagramClass.DROP,
    DatagramClass.FALLBACK,
    DatagramClass.RELIABLE_OK,
)
QUICK = StreamEstimate(queue_size=0, trip_s=0.02, rate=None)
LONG = StreamEstimate(queue_size=QUEUE_SIZE_MAX + 1, trip_s=0.02, rate=None)


def fate(
    datagram_class: DatagramClass,
    size: int = 100,
    deadline_s: float | None = None,
    *,
    has_udp: bool = False,
    stream: StreamEstimate | None = QUICK,
) -> DatagramFate:
    return DatagramPolicy().decide(size, datagram_class, deadline_s, has_udp=has_udp, stream=stream)


@pytest.mark.parametrize("datagram_class", DatagramClass)
def test_a_datagram_path_that_is_up_is_taken(datagram_class: DatagramClass) -> None:
    """M11"""
    assert fate(datagram_class, DATA_SIZE, has_udp=True) is DatagramFate.SENT_UDP
    assert fate(datagram_class, has_udp=True, stream=None) is DatagramFate.SENT_UDP


@pytest.mark.parametrize(
    ("datagram_class", "expected"),
    [
        (DROP, DatagramFate.DROPPED_NO_UDP),
        (FALLBACK, DatagramFate.SENT_TCP),
        (RELIABLE_OK, DatagramFate.SENT_TCP),
    ],
)
def test_without_a_datagram_path_the_class_decides(
    datagram_class: DatagramClass, expected: DatagramFate
) -> None:
    """M11"""
    assert fate(datagram_class) is expected


@pytest.mark.parametrize(
    ("datagram_class", "expected"),
    [
        (DROP, DatagramFate.DROPPED_NO_UDP),
        (FALLBACK, DatagramFate.DROPPED_NO_PATH),
        (RELIABLE_OK, DatagramFate.DROPPED_NO_PATH),
    ],
)
def test_without_any_path_it_is_dropped(
    datagram_class: DatagramClass, expected: DatagramFate
) -> None:
    assert fate(datagram_class, stream=None) is expected


def test_a_stream_with_a_long_queue_is_no_fallback() -> None:
    """M11"""
    at_the_limit = StreamEstimate(QUEUE_SIZE_MAX, 0.02, None)
    assert fate(FALLBACK, stream=at_the_limit) is DatagramFate.SENT_TCP
    assert fate(FALLBACK, stream=LONG) is DatagramFate.DROPPED_QUEUE
    assert fate(RELIABLE_OK, stream=LONG) is DatagramFate.SENT_TCP


def test_a_stream_that_would_be_late_is_no_fallback() -> None:
    """M11: 10 KB before it at 100 KB/s take a tenth of a second."""
    stream = StreamEstimate(10_000, 0.02, 100_000)
    assert fate(FALLBACK, deadline_s=0.2, stream=stream) is DatagramFate.SENT_TCP
    assert fate(FALLBACK, deadline_s=0.1, stream=stream) is DatagramFate.DROPPED_DEADLINE
    assert fate(RELIABLE_OK, deadline_s=0.1, stream=stream) is DatagramFate.SENT_TCP
    assert fate(FALLBACK, deadline_s=0.01, stream=QUICK) is DatagramFate.DROPPED_DEADLINE


def test_what_is_late_already_is_not_sent() -> None:
    assert fate(DROP, deadline_s=0.0, has_udp=True) is DatagramFate.DROPPED_DEADLINE
    assert fate(FALLBACK, deadline_s=-1.0, has_udp=True) is DatagramFate.DROPPED_DEADLINE
    assert fate(RELIABLE_OK, deadline_s=0.0, has_udp=True) is DatagramFate.SENT_UDP


def test_what_no_datagram_path_carries_takes_the_stream_or_is_too_large() -> None:
    """M11"""
    size = DATA_SIZE + 1
    assert fate(DROP, size, has_udp=True) is DatagramFate.TOO_LARGE
    assert fate(DROP, size) is DatagramFate.TOO_LARGE
    assert fate(FALLBACK, size, has_udp=True) is DatagramFate.SENT_TCP
    assert fate(RELIABLE_OK, size, has_udp=True) is DatagramFate.SENT_TCP
    for datagram_class in (FALLBACK, RELIABLE_OK):
        most = SIZES_MAX[datagram_class]
        assert fate(datagram_class, most) is DatagramFate.SENT_TCP
        assert fate(datagram_class, most + 1) is DatagramFate.TOO_LARGE


@given(
    st.lists(
        st.tuples(
            st.integers(0, 300_000),
            st.sampled_from(DatagramClass),
            st.none() | st.floats(-1.0, 1.0),
            st.booleans(),
            st.sampled_from([None, QUICK, LONG]),
        )
    )
)
def test_every_datagram_meets_exactly_one_fate_and_is_counted(
    cases: list[tuple[int, DatagramClass, float | None, bool, StreamEstimate | None]],
) -> None:
    """M11: and `drop` never takes a stream."""
    datagrams = DatagramPolicy()
    for size, datagram_class, deadline_s, has_udp, stream in cases:
        met = datagrams.decide(size, datagram_class, deadline_s, has_udp=has_udp, stream=stream)
        assert met.is_sent is (met in (DatagramFate.SENT_UDP, DatagramFate.SENT_TCP))
        assert met is not DatagramFate.SENT_UDP or (has_udp and size <= DATA_SIZE)
        assert met is not DatagramFate.SENT_TCP or stream is not None
        assert (datagram_class, met) != (DROP, DatagramFate.SENT_TCP)
    assert datagrams.counts.total() == len(cases)
