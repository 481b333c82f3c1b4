"""T3: only the recipient opens a box message, and knows who wrote it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, DecodeError, RookeryError, UsageError
from rookery.identity.hashname import intermediate
from rookery.identity.identity import Identity
from rookery.link.channels.box import MESSAGE_SIZE_MAX
from rookery.link.channels.box_seal import seal, unseal
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject, Packet

RANDOM = random.Random(7).randbytes
ALICE, BOB = (Identity.generate((0x3A, 0x40), RANDOM) for _ in range(2))
MALLORY = Identity.generate((0x3A,), RANDOM)


@pytest.mark.parametrize("csids", [(0x3A,), (0x40,), (0x3A, 0x40)])
def test_the_recipient_reads_it_and_knows_the_sender(csids: tuple[int, ...]) -> None:
    """T1"""
    keys = {csid: BOB.keys[csid] for csid in csids}
    letter = unseal(BOB, seal(ALICE, keys, b"see you", 5, RANDOM))
    assert (letter.sender, letter.at, letter.content) == (ALICE.hashname, 5, b"see you")
    assert "see you" not in repr(letter)


def test_only_the_recipient_can_read_it() -> None:
    message = seal(ALICE, BOB.keys, b"secret", 5, RANDOM)
    assert b"secret" not in message
    with pytest.raises(RookeryError):
        unseal(ALICE, message)
    with pytest.raises(DecodeError):
        unseal(MALLORY, message)


def forged(head: JsonObject) -> bytes:
    """What Mallory seals for Bob under a head of her choosing."""
    inner = Packet.of(head, b"send money").serialize()
    cipher = MALLORY.local[0x3A].exchange(BOB.keys[0x3A], RANDOM)
    return Packet(b"\x3a", cipher.seal(inner)).serialize()


def test_a_borrowed_key_is_found_out() -> None:
    head: JsonObject = {"type": "box", "csid": "3a", "at": 1, "keys": {}}
    with pytest.raises(AuthenticationError):
        unseal(BOB, forged({**head, "key": base32.encode(ALICE.keys[0x3A])}))


def test_borrowed_intermediates_do_not_make_another_hashname() -> None:
    keys = {"40": base32.encode(intermediate(ALICE.keys[0x40]))}
    key = base32.encode(MALLORY.keys[0x3A])
    letter = unseal(BOB, forged({"type": "box", "csid": "3a", "key": key, "at": 1, "keys": keys}))
    assert letter.sender not in (ALICE.hashname, MALLORY.hashname)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "link"},
        {"csid": "40"},
        {"at": None},
        {"keys": None},
        {"keys": {"+1": "aa"}},
        {"keys": {"40": 5}},
        {"keys": {"40": "aa"}},
        {"keys": {"00": base32.encode(bytes(32))}},
        {"keys": {f"{csid:02x}": "aa" for csid in range(20)}},
        {"key": None},
        {"key": "!"},
    ],
)
def test_a_malformed_head_is_refused(change: JsonObject) -> None:
    key = base32.encode(MALLORY.keys[0x3A])
    head: JsonObject = {"type": "box", "csid": "3a", "key": key, "at": 1, "keys": {}}
    assert unseal(BOB, forged(head)).sender == MALLORY.hashname
    with pytest.raises((DecodeError, AuthenticationError)):
        unseal(BOB, forged({**head, **change}))


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: b"\x00\x01\x3a" + data))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    with pytest.raises((DecodeError, AuthenticationError)):
        unseal(BOB, data)


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_changed_bit_is_found_out(position: int, flip: int) -> None:
    message = bytearray(seal(ALICE, BOB.keys, b"x" * 50, 5, RANDOM))
    message[position % len(message)] ^= flip
    with pytest.raises((DecodeError, AuthenticationError)):
        unseal(BOB, bytes(message))


def test_bounds_and_missing_sets() -> None:
    with pytest.raises(UsageError, match="cipher set"):
        seal(MALLORY, {0x40: BOB.keys[0x40]}, b"", 0, RANDOM)
    with pytest.raises(UsageError, match="a box takes"):
        seal(ALICE, BOB.keys, bytes(MESSAGE_SIZE_MAX), 0, RANDOM)
    with pytest.raises(DecodeError):
        unseal(BOB, bytes(MESSAGE_SIZE_MAX + 1))
