"""P5: what members tell each other about advice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.mesh.quality.advice_answer import ANSWER_SIZE_MAX, AdviceAnswer, answer, parse_answer


@given(artifact=st.binary(min_size=1, max_size=99))
def test_whoever_has_another_or_none_gets_the_artifact(artifact: bytes) -> None:
    for meta in ({}, {"issued_ms": 4}, {"issued_ms": "5"}, {"other": 5}):
        assert parse_answer(answer(meta, 5, artifact)) == (AdviceAnswer.ARTIFACT, artifact)


def test_whoever_has_it_already_is_told_so() -> None:
    assert parse_answer(answer({"issued_ms": 5}, 5, b"artifact")) == (AdviceAnswer.SAME, b"")


def test_whoever_follows_none_says_so() -> None:
    assert parse_answer(answer({"issued_ms": 5}, 5, None)) == (AdviceAnswer.NONE, b"")


@given(st.binary(max_size=9))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    try:
        told, artifact = parse_answer(data)
    except DecodeError:
        return
    assert bytes([told]) + artifact == data


@pytest.mark.parametrize("wrong", [b"", b"\x03", b"\x00more", b"\x02", bytes(ANSWER_SIZE_MAX + 1)])
def test_what_cannot_be_is_refused(wrong: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_answer(wrong)
