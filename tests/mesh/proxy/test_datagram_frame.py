"""M7: datagrams within a stream keep their borders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import UsageError
from rookery.mesh.proxy.datagram_frame import DATAGRAM_SIZE_MAX, DatagramDeframer, frame_datagram


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(1, 50))
def test_datagrams_come_out_as_they_went_in_however_cut(sent: list[bytes], cut: int) -> None:
    data, deframer = b"".join(map(frame_datagram, sent)), DatagramDeframer()
    found = [one for at in range(0, len(data), cut) for one in deframer.feed(data[at : at + cut])]
    assert found == sent
    assert not deframer.is_within


@given(st.lists(st.binary(max_size=5000), max_size=20))
def test_any_bytes_are_datagrams_and_never_pile_up(chunks: list[bytes]) -> None:
    deframer, total, out = DatagramDeframer(), 0, 0
    for chunk in chunks:
        total += len(chunk)
        out += sum(2 + len(one) for one in deframer.feed(chunk))
        assert total - out < 2 + 0x10000


def test_a_begun_datagram_is_noticed() -> None:
    deframer = DatagramDeframer()
    assert deframer.feed(b"\0\2a") == []
    assert deframer.is_within


def test_a_datagram_that_udp_cannot_carry_is_not_framed() -> None:
    assert len(frame_datagram(bytes(DATAGRAM_SIZE_MAX))) == DATAGRAM_SIZE_MAX + 2
    with pytest.raises(UsageError):
        frame_datagram(bytes(DATAGRAM_SIZE_MAX + 1))
