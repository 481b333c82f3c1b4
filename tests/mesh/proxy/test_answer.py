"""M9: the exit's answer, with a typed error if need be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.link.channels.sock import Address
from rookery.mesh.proxy.answer import ANSWER_SIZE_MAX, PREFIX_SIZE, Answer, answer_size
from rookery.mesh.proxy.fault import Fault


@pytest.mark.parametrize(
    "answer",
    [
        Answer(),
        Answer(None, Address("192.0.2.1", 443), 255),
        *(Answer(fault, None, 3) for fault in Fault),
    ],
)
def test_an_answer_reads_back_as_it_was_written(answer: Answer) -> None:
    data = answer.serialize()
    assert answer_size(data[:PREFIX_SIZE]) == len(data) - PREFIX_SIZE
    assert Answer.parse(data[PREFIX_SIZE:]) == answer


def test_a_fault_of_the_future_is_still_a_fault() -> None:
    assert Answer.parse(b'{"fault":"eclipse"}').fault is Fault.UNREACHABLE


@pytest.mark.parametrize("prefix", [b"", b"\0", b"\0\0", b"\0\1", b"\xff\xff"])
def test_a_size_out_of_bounds_is_refused_before_anything_is_read(prefix: bytes) -> None:
    with pytest.raises(DecodeError):
        answer_size(prefix)
    assert answer_size(ANSWER_SIZE_MAX.to_bytes(2, "big")) == ANSWER_SIZE_MAX


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"load":-1}',
        b'{"load":256}',
        b'{"load":"1"}',
        b'{"fault":1}',
        b'{"ip":"a"}',
        b'{"port":1}',
        b'{"ip":"","port":1}',
        b'{"ip":"a","port":true}',
        b'{"ip":"a","port":65536}',
    ],
)
def test_nonsense_is_no_answer(data: bytes) -> None:
    with pytest.raises(DecodeError):
        Answer.parse(data)


@given(st.binary(max_size=ANSWER_SIZE_MAX))
def test_any_bytes_are_an_answer_or_refused(data: bytes) -> None:
    try:
        Answer.parse(data)
    except DecodeError:
        return
