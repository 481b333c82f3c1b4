from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire import base32


class Case(msgspec.Struct):
    hex: str
    base32: str


class Vectors(msgspec.Struct):
    base32: list[Case]


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[1] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)


@pytest.mark.parametrize("case", VECTORS.base32, ids=lambda case: case.base32 or "empty")
def test_the_public_table_reads_the_same_in_both_directions(case: Case) -> None:
    """T7"""
    assert base32.encode(bytes.fromhex(case.hex)) == case.base32
    assert base32.decode(case.base32) == bytes.fromhex(case.hex)


@given(st.binary(max_size=200))
def test_every_byte_string_survives_the_round_trip(data: bytes) -> None:
    assert base32.decode(base32.encode(data)) == data


@given(st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz234567018=A_+- \n"), max_size=60))
def test_any_text_decodes_to_what_encodes_back_to_it_or_is_refused(text: str) -> None:
    try:
        data = base32.decode(text)
    except DecodeError:
        return
    assert base32.encode(data) == text


@pytest.mark.parametrize(
    "text",
    ["MY", "my======", "m", "mzx", "mzxw6y", "mz", "0a", "a_aaa", "aaaa\n", "+aaaa", "éa"],
)
def test_text_with_another_spelling_or_an_impossible_length_is_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        base32.decode(text)
