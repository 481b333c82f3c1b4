import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.cloak import ROUNDS_MAX, cloak, reveal
from rookery.wire.link.lob import Packet


class Case(msgspec.Struct):
    rounds: int
    packet_hex: str
    cloaked_hex: str


class Cases(msgspec.Struct):
    key_hex: str
    cases: list[Case]


class Announcement(msgspec.Struct):
    packet_hex: str


class Vectors(msgspec.Struct):
    cloak: Cases
    discovery_announcement_js: Announcement


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[2] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)
NONCES = st.binary(min_size=8, max_size=8)
HEADS = st.binary(max_size=6)


def rounds_of(case: Case) -> list[bytes]:
    """Each layer of a cloaked packet, outermost first, the bare packet last."""
    layers = [bytes.fromhex(case.cloaked_hex)]
    for _ in range(case.rounds):
        # The cipher is its own inverse: cloaking the inside again gives the next layer.
        layers.append(cloak(layers[-1][8:], layers[-1][:8])[8:])
    return layers


@pytest.mark.parametrize("case", VECTORS.cloak.cases, ids=lambda case: f"{case.rounds} rounds")
def test_public_cloaks_are_revealed_and_made_again(case: Case) -> None:
    """T7"""
    packet = bytes.fromhex(case.packet_hex)
    assert reveal(bytes.fromhex(case.cloaked_hex)).serialize() == packet
    layers = rounds_of(case)
    assert layers[-1] == packet
    for outer, inner in pairwise(layers):
        assert cloak(inner, outer[:8]) == outer


def test_the_key_is_the_public_one() -> None:
    """T7: keystream under a known key, made with another library call."""
    key = bytes.fromhex(VECTORS.cloak.key_hex)
    stream = Cipher(ChaCha20(key, bytes(8) + b"abcdefgh"), None).encryptor().update(bytes(300))
    assert cloak(bytes(300), b"abcdefgh") == b"abcdefgh" + stream


@given(HEADS, st.binary(max_size=2000), st.lists(NONCES, max_size=ROUNDS_MAX))
def test_any_number_of_rounds_up_to_the_bound_is_revealed(
    head: bytes, body: bytes, nonces: list[bytes]
) -> None:
    packet = Packet(head, body)
    data = packet.serialize()
    for nonce in nonces:
        data = cloak(data, nonce)
        assert data[0] != 0
    assert reveal(data) == packet


def test_the_last_round_of_the_bound_passes_and_one_more_is_refused() -> None:
    packet = Packet(b"", b"body")
    data = packet.serialize()
    for number in range(ROUNDS_MAX):
        data = cloak(data, bytes([1 + number]) * 8)
    assert reveal(data) == packet
    with pytest.raises(DecodeError):
        reveal(cloak(data, b"one more"))


def cpu_s(datagrams: list[bytes]) -> float:
    """What it takes to look at these, at best: others may have the processor meanwhile."""
    found = []
    for _ in range(5):
        start = time.process_time()
        for each in datagrams:
            with suppress(DecodeError):
                reveal(each)
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize("size", [400, 1400])
def test_noise_costs_little_more_than_a_packet_whatever_its_size(size: int) -> None:
    """Anybody can send it, and it looks like a packet under many rounds."""
    random = Random(1)
    noise = [b"\x01" + random.randbytes(size - 1) for _ in range(500)]
    honest = [cloak(Packet(b"", each[10:]).serialize(), each[:8]) for each in noise]
    assert cpu_s(noise) < 6 * cpu_s(honest)  # 2.6 times; 15 and more when all of it was deciphered


@given(st.integers(250, 3000), st.binary(max_size=50))
def test_a_plain_packet_with_a_long_json_head_is_read_as_it_is(size: int, body: bytes) -> None:
    packet = Packet.of({"type": "x" * size}, body)
    assert reveal(packet.serialize()) == packet


def test_the_public_announcement_is_read_plain_and_cloaked() -> None:
    """T6, T7"""
    data = bytes.fromhex(VECTORS.discovery_announcement_js.packet_hex)
    assert reveal(data) == reveal(cloak(data, b"\xff" * 8)) == Packet.parse(data)


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_revealed_or_raise_decode_error(data: bytes) -> None:
    try:
        packet = reveal(data)
    except DecodeError:
        return
    assert len(packet.serialize()) <= len(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\x01" * 9, b"\x01\x10{" + b"x" * 10, b"\x01\x10{" + b"x" * 400],
    ids=["empty", "half a packet", "half a round", "head cut short", "no JSON"],
)
def test_bytes_that_hold_no_packet_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        reveal(data)
