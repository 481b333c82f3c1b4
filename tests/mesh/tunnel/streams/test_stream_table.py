"""M4: who may open streams."""

import pytest

from rookery.errors import CongestionError, ProtocolError
from rookery.mesh.tunnel.limits import STREAMS_START, TunnelLimits
from rookery.mesh.tunnel.streams.stream_table import StreamTable


def test_the_two_sides_number_their_streams_apart() -> None:
    opener, other = (
        StreamTable(TunnelLimits(), is_opener=True),
        StreamTable(TunnelLimits(), is_opener=False),
    )
    assert [opener.open(0.0).id for _ in range(3)] == [1, 3, 5]
    assert [other.open(0.0).id for _ in range(3)] == [2, 4, 6]
    named = other.named(5, 0.0)
    assert named is not None
    assert not named.is_ours
    assert other.named(5, 0.0) is named
    assert other.was(5)
    assert not other.was(3)
    assert other.was(4)
    assert not other.was(8)


def test_beyond_what_is_granted_nobody_opens() -> None:
    """M4: 4096 at once, on both sides."""
    ours, theirs = (
        StreamTable(TunnelLimits(), is_opener=True),
        StreamTable(TunnelLimits(), is_opener=False),
    )
    for _ in range(STREAMS_START):
        theirs.named(ours.open(0.0).id, 0.0)
    with pytest.raises(CongestionError):
        ours.open(0.0)
    with pytest.raises(ProtocolError, match="granted"):
        theirs.named(2 * STREAMS_START + 1, 0.0)
    assert len(theirs) == len(list(theirs)) == STREAMS_START


def test_what_is_over_makes_room_for_another() -> None:
    ours, theirs = (
        StreamTable(TunnelLimits(), is_opener=True),
        StreamTable(TunnelLimits(), is_opener=False),
    )
    due = []
    for _ in range(STREAMS_START):
        number = ours.open(0.0).id
        stream = theirs.named(number, 0.0)
        assert stream is not None
        due.append(theirs.forget(stream))
        assert theirs.named(number, 0.0) is None
    assert due.index(True) == STREAMS_START // 4 - 1
    ours.opens_max = theirs.grant()
    assert ours.opens_max == 2 * STREAMS_START
    stream = ours.open(0.0)
    assert not ours.forget(stream)
    assert ours.named(stream.id, 0.0) is None


def test_a_stream_of_ours_that_never_was_cannot_be_named() -> None:
    with pytest.raises(ProtocolError, match="never opened"):
        StreamTable(TunnelLimits(), is_opener=True).named(1, 0.0)
