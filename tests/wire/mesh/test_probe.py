"""Probes and their answers: one size or the other, and nothing in the padding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import PROBE, PROBED
from rookery.wire.mesh.probe import SIZES, TOKEN_SIZE, Probe, Probed

TOKEN = bytes(range(TOKEN_SIZE))


@pytest.mark.parametrize("size", SIZES)
def test_a_probe_is_as_large_as_it_says(size: int) -> None:
    head, body = Probe(TOKEN, size).serialize()
    assert len(head) + len(body) == size
    assert Probe.parse(head, body) == Probe(TOKEN, size)


def test_an_answer_is_the_token() -> None:
    assert Probed(TOKEN).serialize() == (bytes([PROBED]), TOKEN)
    assert Probed.parse(bytes([PROBED]), TOKEN) == Probed(TOKEN)


@pytest.mark.parametrize("size", [0, 8, 62, 64, 1198, 1200])
def test_no_other_size_is_a_probe(size: int) -> None:
    with pytest.raises(DecodeError, match="not a probe"):
        Probe.parse(bytes([PROBE]), bytes(size))


def test_the_padding_carries_nothing() -> None:
    with pytest.raises(DecodeError, match="zero"):
        Probe.parse(bytes([PROBE]), TOKEN + bytes(54) + b"\1")


@given(head=st.binary(max_size=3), body=st.binary(max_size=1300))
def test_arbitrary_bytes_parse_or_raise_decode_error(head: bytes, body: bytes) -> None:
    for kind in (Probe, Probed):
        try:
            frame = kind.parse(head, body)
        except DecodeError:
            continue
        assert frame.serialize() == (head, body)
