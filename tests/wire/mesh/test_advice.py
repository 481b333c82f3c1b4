"""P5: the body of an advice."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.mesh.advice import LINKS_MAX, WINDOWS_MAX, Advice, AdviceWindow, LinkAdvice

REALM = b"realm id"
ALICE, BOB = sorted(base32.encode(bytes([number]) * 32) for number in (1, 2))

hashnames = st.binary(min_size=32, max_size=32).map(base32.encode)


def windows(times: list[int]) -> tuple[AdviceWindow, ...]:
    """Between each two of them, every second one left out."""
    pairs = zip(times[::2], times[1::2], strict=False)
    return tuple(AdviceWindow(start, end, 1 + end % 5 / 4, 0.5) for start, end in pairs)


links = st.lists(
    st.builds(
        lambda realm, ends, times: LinkAdvice(realm, min(ends), max(ends), windows(sorted(times))),
        st.binary(min_size=8, max_size=8),
        st.sets(hashnames, min_size=2, max_size=2),
        st.sets(st.integers(0, 2**53 - 1), max_size=9),
    ),
    max_size=5,
    unique_by=lambda link: (link.realm, link.a, link.b),
)


@given(links.map(tuple))
def test_what_was_written_is_read_again(expected: tuple[LinkAdvice, ...]) -> None:
    assert Advice.parse(Advice(expected).body()).links == expected


@given(st.binary(max_size=300))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    try:
        advice = Advice.parse(data)
    except DecodeError:
        return
    assert Advice.parse(advice.body()) == advice


def test_a_window_is_open_from_its_start_up_to_its_end() -> None:
    first, second = AdviceWindow(10, 20, 1.5, 1.0), AdviceWindow(20, 30, 2.0, 1.0)
    link = LinkAdvice(REALM, ALICE, BOB, (first, second))
    found = [link.window_at(at) for at in (9, 10, 19, 20, 29, 30)]
    assert found == [None, first, first, second, second, None]


@given(factor=st.floats(1, 2), confidence=st.floats(0, 1))
def test_confidence_moves_the_factor_between_one_and_itself(
    factor: float, confidence: float
) -> None:
    weighted = AdviceWindow(0, 1, factor, confidence).weighted
    assert 1 <= weighted <= factor + 1e-12
    assert AdviceWindow(0, 1, factor, 0.0).weighted == 1
    assert AdviceWindow(0, 1, factor, 1.0).weighted == pytest.approx(factor)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ([REALM, ALICE, BOB, [[0, 1, 2.5, 1.0]]], "no advice"),
        ([REALM, ALICE, BOB, [[0, 1, 0.5, 1.0]]], "no advice"),
        ([REALM, ALICE, BOB, [[0, 1, float("nan"), 1.0]]], "no advice"),
        ([REALM, ALICE, BOB, [[0, 1, 2.0, 1.5]]], "no advice"),
        ([REALM[:7], ALICE, BOB, []], "no advice"),
        ([REALM, ALICE[:51], BOB, []], "no advice"),
        ([REALM, ALICE, BOB, [[0, 1, 2.0, 1.0]] * (WINDOWS_MAX + 1)], "no advice"),
        ([REALM, ALICE, "0" * 52, []], "alphabet"),
        ([REALM, BOB, ALICE, []], "not in order"),
        ([REALM, ALICE, ALICE, []], "not in order"),
        ([REALM, ALICE, BOB, [[5, 5, 2.0, 1.0]]], "ends before"),
        ([REALM, ALICE, BOB, [[0, 9, 2.0, 1.0], [8, 10, 2.0, 1.0]]], "overlap"),
    ],
)
def test_what_cannot_be_is_refused(wrong: list[object], reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        Advice.parse(msgspec.msgpack.encode([wrong]))


def test_a_link_is_named_once_and_links_are_so_many_at_most() -> None:
    with pytest.raises(DecodeError, match="twice"):
        Advice.parse(msgspec.msgpack.encode([[REALM, ALICE, BOB, []]] * 2))
    many = [[at.to_bytes(8, "big"), ALICE, BOB, []] for at in range(LINKS_MAX + 1)]
    assert len(Advice.parse(msgspec.msgpack.encode(many[1:])).links) == LINKS_MAX
    with pytest.raises(DecodeError):
        Advice.parse(msgspec.msgpack.encode(many))
