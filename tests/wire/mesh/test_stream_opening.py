"""M4: what a stream says first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.stream_opening import HEADER_SIZE, StreamOpening

METAS = st.dictionaries(st.text(max_size=9), st.integers(-(2**31), 2**31) | st.text(max_size=9))


@given(st.text(max_size=60), METAS, st.integers(0, 7))
def test_an_opening_survives_the_wire(service: str, meta: JsonObject, priority: int) -> None:
    opening = StreamOpening(service, meta, priority)
    data = opening.serialize()
    assert StreamOpening.parse(data) == opening
    assert StreamOpening.size(data[:HEADER_SIZE]) == len(data)


@given(st.binary(max_size=40))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    try:
        opening = StreamOpening.parse(data)
    except DecodeError:
        return
    assert StreamOpening.parse(opening.serialize()) == opening


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("080000 00", id="priority 8"),
        pytest.param("030010 01" + "20" * 4097, id="too much meta"),
        pytest.param("030100 00 ff", id="not UTF-8"),
        pytest.param("030000 02 5b5d", id="an array"),
        pytest.param("030100 00", id="cut short"),
        pytest.param("03", id="cut shorter"),
        pytest.param("030000 00 00", id="too long"),
    ],
)
def test_nonsense_is_refused(data: str) -> None:
    with pytest.raises(DecodeError):
        StreamOpening.parse(bytes.fromhex(data))
