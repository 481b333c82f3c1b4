"""CBOR of authenticators: the examples of RFC 8949 that may be in it, and nothing beside them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.web.accounts.factors import cbor
from tests.web.authenticator import cbor as written

GOOD = {  # RFC 8949, appendix A
    "00": 0,
    "17": 23,
    "1818": 24,
    "1903e8": 1000,
    "1a000f4240": 1_000_000,
    "1bffffffffffffffff": 18_446_744_073_709_551_615,
    "20": -1,
    "3903e7": -1000,
    "f4": False,
    "f5": True,
    "f6": None,
    "40": b"",
    "4401020304": b"\x01\x02\x03\x04",
    "6161": "a",
    "62c3bc": "ü",
    "83010203": [1, 2, 3],
    "8301820203820405": [1, [2, 3], [4, 5]],
    "a201020304": {1: 2, 3: 4},
    "a26161016162820203": {"a": 1, "b": [2, 3]},
}
BAD = {
    "": "nothing",
    "18": "a number that ends",
    "1817": "a number in more bytes than it takes",
    "190010": "likewise",
    "1b00000000ffffffff": "likewise",
    "0000": "two values",
    "420a": "bytes that end",
    "5bffffffffffffffff": "more bytes than there are",
    "61ff": "text that is no UTF-8",
    "5f42010243030405ff": "indefinite length",
    "c074": "a tag",
    "f93c00": "a float",
    "f7": "undefined",
    "a201020103": "a repeated key",
    "a1f401": "a key that is no number",
    "a1400a": "likewise",
    "8181818181": "an array that ends",
    "818181818100": "nested too deeply",
    "9841": "too many items",
}
VALUES = st.recursive(
    st.integers(-(1 << 64), (1 << 64) - 1) | st.binary() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.integers(-9, 9) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(("data", "value"), GOOD.items())
def test_it_reads_what_the_rfc_writes(data: str, value: object) -> None:
    found = cbor.parse(bytes.fromhex(data))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("data", BAD, ids=BAD.get)
def test_it_refuses_everything_else(data: str) -> None:
    with pytest.raises(DecodeError):
        cbor.parse(bytes.fromhex(data))


@given(VALUES)
def test_it_reads_what_another_hand_writes(value: object) -> None:
    try:
        assert cbor.parse(written(value)) == value
    except DecodeError as error:
        assert "deeply" in str(error)  # noqa: PT017


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(DecodeError):
        cbor.parse(data)
