"""Messages in parts (F11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import ProtocolError
from rookery.fleet.rpc.message import MESSAGE_SIZE_MAX
from rookery.fleet.rpc.parts import PART_SIZE, RpcJoiner, split
from rookery.wire.fleet import tags
from rookery.wire.fleet.tlv import Tlv


@pytest.mark.parametrize(
    "size", [0, 1, PART_SIZE - 1, PART_SIZE, PART_SIZE + 1, 3 * PART_SIZE, MESSAGE_SIZE_MAX]
)
def test_f11_a_message_comes_out_as_it_went_in(size: int) -> None:
    message = bytes(number % 251 for number in range(size))
    joiner = RpcJoiner()
    parts = split(message)
    assert [tlv.tag for tlv in parts] == [tags.RPC_PART] * (len(parts) - 1) + [tags.RPC]
    for _ in range(2):
        *open_ends, last = [joiner.add(tlv) for tlv in parts]
        assert last == message
        assert not any(end is not None for end in open_ends)
        assert joiner.size == 0


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1))
def test_parts_may_be_cut_anywhere(pieces: list[bytes]) -> None:
    joiner = RpcJoiner()
    for piece in pieces[:-1]:
        assert joiner.add(Tlv(tags.RPC_PART, piece)) is None
    assert joiner.add(Tlv(tags.RPC, pieces[-1])) == b"".join(pieces)


def test_what_is_too_much_is_refused_before_it_is_kept() -> None:
    joiner = RpcJoiner()
    for _ in range(MESSAGE_SIZE_MAX // PART_SIZE):
        joiner.add(Tlv(tags.RPC_PART, bytes(PART_SIZE)))
    with pytest.raises(ProtocolError, match="more than 1048576 bytes"):
        joiner.add(Tlv(tags.RPC, b"x"))
    assert joiner.size == MESSAGE_SIZE_MAX


@pytest.mark.parametrize("tlv", [Tlv(tags.RPC_PART, b""), Tlv(tags.WELCOME, b"x")])
def test_what_carries_nothing_is_refused(tlv: Tlv) -> None:
    with pytest.raises(ProtocolError):
        RpcJoiner().add(tlv)
