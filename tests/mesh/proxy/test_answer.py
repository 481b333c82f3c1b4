"""M9: the exit's answer, with a typed error if need be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.answer import ANSWER_SIZE_MAX, PREFIX_SIZE, ProxyAnswer, answer_size
from rookery.mesh.proxy.fault import ProxyFault


@pytest.mark.parametrize(
    "answer",
    [
        ProxyAnswer(),
        ProxyAnswer(None, SockAddress("192.0.2.1", 443), 255),
        *(ProxyAnswer(fault, None, 3) for fault in ProxyFault),
    ],
)
def test_an_answer_reads_back_as_it_was_written(answer: ProxyAnswer) -> None:
    data = answer.serialize()
    assert answer_size(data[:PREFIX_SIZE]) == len(data) - PREFIX_SIZE
    assert ProxyAnswer.parse(data[PREFIX_SIZE:]) == answer


def test_a_fault_of_the_future_is_still_a_fault() -> None:
    assert ProxyAnswer.parse(b'{"fault":"eclipse"}').fault is ProxyFault.UNREACHABLE


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
        ProxyAnswer.parse(data)


@given(st.binary(max_size=ANSWER_SIZE_MAX))
def test_any_bytes_are_an_answer_or_refused(data: bytes) -> None:
    try:
        ProxyAnswer.parse(data)
    except DecodeError:
        return
