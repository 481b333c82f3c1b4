"""What the hub's spool keeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.observation import CONTENT_SIZE_MAX, HEAD, Observation

U64 = st.integers(0, 2**64 - 1)
OBSERVATIONS = st.builds(
    Observation,
    U64,
    st.integers(0, 255),
    st.binary(min_size=6, max_size=6),
    U64,
    U64,
    st.binary(max_size=200),
)


@given(OBSERVATIONS)
def test_an_observation_survives_the_spool(observation: Observation) -> None:
    assert Observation.parse(observation.serialize()) == observation


@given(st.binary(max_size=100))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    try:
        observation = Observation.parse(data)
    except DecodeError:
        return
    assert observation.serialize() == data


@pytest.mark.parametrize("size", [0, HEAD.size - 1, HEAD.size + CONTENT_SIZE_MAX + 1])
def test_sizes_beyond_the_bounds_are_refused(size: int) -> None:
    with pytest.raises(DecodeError):
        Observation.parse(bytes(size))
