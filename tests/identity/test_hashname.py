from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.identity.hashname import hashname, intermediate, is_hashname, named_by
from rookery.wire import base32


class Case(msgspec.Struct):
    keys_base32: dict[str, str]
    intermediates_base32_in: dict[str, str]
    intermediates_base32: dict[str, str]
    hashname: str


class Vectors(msgspec.Struct):
    hashname: list[Case]


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[1] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)


def by_csid(texts: dict[str, str]) -> dict[int, bytes]:
    return {int(csid, 16): base32.decode(text) for csid, text in texts.items()}


@pytest.mark.parametrize("case", VECTORS.hashname, ids=lambda case: case.hashname[:8])
def test_public_hashnames_roll_up_from_their_keys(case: Case) -> None:
    """T1, T7"""
    keys = by_csid(case.keys_base32)
    assert {csid: intermediate(key) for csid, key in keys.items()} == by_csid(
        case.intermediates_base32
    )
    assert hashname(keys, by_csid(case.intermediates_base32_in)) == case.hashname
    assert is_hashname(case.hashname)


@given(st.dictionaries(st.integers(1, 255), st.binary(max_size=40), min_size=1), st.data())
def test_a_key_and_its_intermediate_contribute_the_same(
    keys: dict[int, bytes], data: st.DataObject
) -> None:
    """T1"""
    held = data.draw(st.sets(st.sampled_from(sorted(keys))))
    others = {csid: intermediate(key) for csid, key in keys.items() if csid not in held}
    name = hashname({csid: keys[csid] for csid in held}, others)
    assert name == hashname(keys)
    assert is_hashname(name)


def test_the_intermediate_of_a_given_key_is_ignored() -> None:
    assert hashname({0x3A: b"key"}, {0x3A: bytes(32)}) == hashname({0x3A: b"key"})


@pytest.mark.parametrize(
    ("keys", "intermediates"),
    [({}, {}), ({}, {0x3A: bytes(31)}), ({0: b"key"}, {}), ({256: b"key"}, {})],
)
def test_no_key_a_wrong_csid_or_a_short_intermediate_has_no_hashname(
    keys: dict[int, bytes], intermediates: dict[int, bytes]
) -> None:
    with pytest.raises(DecodeError):
        hashname(keys, intermediates)


@pytest.mark.parametrize(
    "text",
    ["", "a" * 51, "a" * 53, "A" * 52, "a" * 51 + "8", "a" * 51 + "b"],
    ids=["empty", "short", "long", "upper case", "alphabet", "spare bits"],
)
def test_other_text_is_no_hashname(text: str) -> None:
    assert not is_hashname(text)


BOB, OTHER = "b" * 51 + "a", "c" * 51 + "a"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("bob", ["bob"]),
        (BOB[:8], ["bob"]),
        (BOB[:7], []),  # too little to stand for a hashname
        (BOB, ["bob"]),
        (OTHER[:8], [OTHER[:8], ""]),  # ambiguous: one is called as the other's hashname begins
        (OTHER[:9], [""]),
        ("", []),
        ("nobody", []),
    ],
)
def test_a_display_name_like_another_hashname_selects_nobody(text: str, found: list[str]) -> None:
    known = [("bob", BOB), (OTHER[:8], "d" * 51 + "a"), ("", OTHER), (BOB, "e" * 51 + "a")]
    assert [name for name, _ in named_by(text, known, lambda one: one)] == found
