"""F8: every TCP connection sets up RSA cryptography at once, and nothing else gets through."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import (
    AuthenticationError,
    DecodeError,
    ProtocolError,
    RemoteError,
    UnreachableError,
    UsageError,
)
from rookery.fleet.sealed_stream import STRANGER_SIZE_MAX, SealedStream
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.identity import Identity
from rookery.wire.fleet import tags
from rookery.wire.fleet.tlv import HEAD_SIZE, Tlv, TlvReader, serialize
from tests.fleet.identities import ACCEPTOR, DIALLER, VECTORS

CHANCE = random.Random(7).randbytes
NOW_MS = 1_800_000_000_000
HELLO = Tlv(tags.ASK, b"hello")
WORLD = Tlv(tags.DIRECT, b"world")

# Can open what is for the acceptor, but says that it is somebody else.
MALLORY = Identity({0x2A: ACCEPTOR.pairs[0x2A]})


def dialled(
    identity: Identity = DIALLER, now_ms: int = NOW_MS, chance: RandomBytes = CHANCE
) -> SealedStream:
    return SealedStream.dial(identity, ACCEPTOR.hashname, ACCEPTOR.keys[0x2A], now_ms, chance)


def accepting(identity: Identity = ACCEPTOR, chance: RandomBytes = CHANCE) -> SealedStream:
    return SealedStream.accept(identity, chance)


def connected() -> tuple[SealedStream, SealedStream]:
    dialler, acceptor = dialled(), accepting()
    assert acceptor.feed(dialler.take()) == []
    assert dialler.feed(acceptor.take()) == []
    assert acceptor.feed(dialler.take()) == []
    return dialler, acceptor


def outer(data: bytes) -> list[Tlv]:
    return TlvReader().feed(data)


def joined(tlvs: list[Tlv]) -> bytes:
    return b"".join(serialize(*tlv) for tlv in tlvs)


def drawn(name: str) -> RandomBytes:
    """The chance that the vectors had."""
    row = VECTORS[name]
    draws: Iterator[bytes] = (bytes.fromhex(row[key]) for key in ("scalar", "message_key", "iv"))
    return lambda size: next(draws)


def recorded(name: str) -> list[Tlv]:
    return [Tlv(tag, bytes.fromhex(value)) for tag, value in VECTORS[name]["stream"]]


def inner(name: str) -> list[Tlv]:
    return outer(b"".join(bytes.fromhex(piece) for piece in VECTORS[name]["pieces"]))


# What it does


def test_both_ends_know_each_other_and_talk() -> None:
    dialler, acceptor = connected()
    assert (dialler.peer, acceptor.peer) == (ACCEPTOR.hashname, DIALLER.hashname)
    assert dialler.is_open
    assert acceptor.is_open
    dialler.send(HELLO, WORLD)
    acceptor.send(WORLD)
    acceptor.send(HELLO)
    assert acceptor.feed(dialler.take()) == [HELLO, WORLD]
    assert dialler.feed(acceptor.take()) == [WORLD, HELLO]


def test_what_is_sent_early_waits_for_the_proof() -> None:
    dialler, acceptor = dialled(), accepting()
    dialler.send(HELLO)
    acceptor.send(WORLD)
    key = dialler.take()
    assert [tlv.tag for tlv in outer(key)] == [tags.KEY]
    acceptor.feed(key)
    answer = acceptor.take()
    assert [tlv.tag for tlv in outer(answer)] == [tags.KEY, tags.SEALED]
    dialler.feed(answer)
    assert acceptor.feed(dialler.take()) == [HELLO]
    assert dialler.feed(acceptor.take()) == [WORLD]


def test_nothing_is_in_the_clear_after_the_handshake() -> None:
    dialler, acceptor = connected()
    for _ in range(3):
        dialler.send(HELLO)
    wire = dialler.take()
    assert {tlv.tag for tlv in outer(wire)} == {tags.SEALED}
    assert HELLO.value not in wire
    acceptor.send()
    assert [(tlv.tag, len(tlv.value)) for tlv in outer(acceptor.take())] == [(tags.SEALED, 28)]


def test_the_largest_tlv_and_more_of_them_pass() -> None:
    dialler, acceptor = connected()
    sent = [Tlv(tags.RPC, bytes(0xFFFF)), HELLO, Tlv(tags.RPC, b"r" * 65_500), WORLD]
    dialler.send(*sent)
    assert acceptor.feed(dialler.take()) == sent


def test_a_first_message_of_any_size_passes() -> None:
    dialler, acceptor = dialled(), accepting()
    dialler.send(large := Tlv(tags.RPC, bytes(60_000)))
    acceptor.feed(dialler.take())
    dialler.feed(acceptor.take())
    assert acceptor.feed(dialler.take()) == [large]


@pytest.mark.parametrize("now_ms", [-5, 0, 1, 2, 3, 4, NOW_MS, NOW_MS + 1])
def test_a_clock_that_was_never_set_does_not_matter(now_ms: int) -> None:
    for from_key, to_key in ((DIALLER, ACCEPTOR), (ACCEPTOR, DIALLER)):
        dialler = SealedStream.dial(from_key, to_key.hashname, to_key.keys[0x2A], now_ms, CHANCE)
        acceptor = accepting(to_key)
        acceptor.feed(dialler.take())
        dialler.feed(acceptor.take())
        acceptor.feed(dialler.take())
        assert acceptor.peer == from_key.hashname


def test_an_identity_without_rsa_is_told_so() -> None:
    with pytest.raises(UsageError):
        SealedStream.accept(Identity({0x40: DIALLER.pairs[0x40]}), CHANCE)


def test_a_key_that_is_none_is_noticed_when_dialling() -> None:
    with pytest.raises(DecodeError):
        SealedStream.dial(DIALLER, ACCEPTOR.hashname, b"key", NOW_MS, CHANCE)


# Vectors


def test_an_acceptor_reads_and_writes_the_vectors() -> None:
    acceptor = accepting(chance=drawn("acceptor"))
    assert acceptor.feed(joined(recorded("dialler"))) == inner("dialler")
    assert acceptor.peer == VECTORS["dialler"]["hashname"]
    # KEY is not compared: OAEP is random by itself.
    assert outer(acceptor.take())[1:] == recorded("acceptor")[1:2]


def test_a_dialler_reads_and_writes_the_vectors() -> None:
    dialler = dialled(now_ms=VECTORS["at"], chance=drawn("dialler"))
    dialler.send(*inner("dialler"))
    assert dialler.feed(joined(recorded("acceptor"))) == inner("acceptor")
    assert dialler.peer == VECTORS["acceptor"]["hashname"]
    assert outer(dialler.take())[1:] == recorded("dialler")[1:]


# However the stream is cut


def test_split_anywhere_it_reads_the_same() -> None:
    key, *sealed = (serialize(*tlv) for tlv in recorded("dialler"))
    data = key + b"".join(sealed)
    for cut in (*range(0, len(key), 16), *range(len(key) - 6, len(data) + 1)):
        acceptor = accepting(chance=drawn("acceptor"))
        assert acceptor.feed(data[:cut]) + acceptor.feed(data[cut:]) == inner("dialler")


def test_split_at_every_byte_it_reads_the_same() -> None:
    data = joined(recorded("acceptor"))
    dialler = dialled(now_ms=VECTORS["at"], chance=drawn("dialler"))
    found = [tlv for byte in data for tlv in dialler.feed(bytes([byte]))]
    assert found == inner("acceptor")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=8), st.data())
def test_any_messages_in_any_cuts_arrive_in_order(values: list[bytes], data: st.DataObject) -> None:
    dialler, acceptor = connected()
    sent = [Tlv(tags.RPC, value) for value in values]
    dialler.send(*sent[:3])
    dialler.send(*sent[3:])
    wire, found = dialler.take(), []
    while wire:
        size = data.draw(st.integers(1, len(wire)))
        found += acceptor.feed(memoryview(wire)[:size])
        wire = wire[size:]
    assert found == sent


# Hostile


def refused(stream: SealedStream, data: bytes) -> None:
    """The stream raises, and is of no more use."""
    with pytest.raises(RemoteError):
        stream.feed(data)
    assert not stream.is_open
    assert stream.take() == b""
    with pytest.raises(ProtocolError):
        stream.feed(b"")
    with pytest.raises(UnreachableError):
        stream.send(HELLO)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=3000))
def test_strangers_bytes_wait_or_end_it(data: bytes) -> None:
    for stream in (accepting(), dialled()):
        stream.take()
        try:
            assert stream.feed(data) == []
        except RemoteError:
            continue
        assert stream.peer is None
        assert stream.take() == b""


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([tags.KEY, tags.SEALED]), st.binary(max_size=2048))
def test_well_formed_nonsense_ends_it(tag: int, value: bytes) -> None:
    refused(accepting(), serialize(tag, value))


@pytest.mark.parametrize("head", [b"", b"\x40", b"\x2a\x2a", b'{"type":"link"}'])
def test_a_handshake_of_another_kind_ends_it(head: bytes) -> None:
    packet = len(head).to_bytes(2, "big") + head + recorded("dialler")[0].value[3:]
    refused(accepting(), serialize(tags.KEY, packet))


def test_the_first_word_must_be_a_key() -> None:
    for tlv in (HELLO, recorded("dialler")[1]):
        refused(accepting(), serialize(*tlv))


def test_plain_words_after_the_handshake_end_it() -> None:
    for tlv in (HELLO, recorded("dialler")[0]):
        dialler, acceptor = connected()
        refused(acceptor, serialize(*tlv))
        refused(dialler, serialize(*tlv))


def test_the_right_words_under_another_tag_end_it() -> None:
    key = recorded("dialler")[0].value
    for tag in (tags.ERROR, tags.SEALED, tags.CALL):
        refused(accepting(), serialize(tag, key))
    for tag in (tags.ERROR, tags.KEY, tags.RPC):
        dialler, acceptor = connected()
        dialler.send(HELLO)
        ((_, value),) = outer(dialler.take())
        refused(acceptor, serialize(tag, value))


def test_a_length_beyond_the_bound_is_refused_by_its_header() -> None:
    header = tags.KEY.to_bytes(2, "big") + (STRANGER_SIZE_MAX + 1).to_bytes(2, "big")
    refused(accepting(), header)
    acceptor = accepting()
    acceptor.feed(dialled().take())
    refused(acceptor, tags.SEALED.to_bytes(2, "big") + header[2:])


def test_a_length_at_the_bound_is_waited_for() -> None:
    header = tags.KEY.to_bytes(2, "big") + STRANGER_SIZE_MAX.to_bytes(2, "big")
    acceptor = accepting()
    assert acceptor.feed(header + bytes(STRANGER_SIZE_MAX - 1)) == []
    refused(acceptor, b"\0")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_flipped_bit_of_the_handshake_ends_it(data: st.DataObject) -> None:
    wire = bytearray(serialize(*recorded("dialler")[0]))
    at = data.draw(st.integers(HEAD_SIZE, len(wire) - 1))
    wire[at] ^= 1 << data.draw(st.integers(0, 7))
    refused(accepting(), bytes(wire))


def test_a_flipped_bit_of_what_is_sealed_ends_it() -> None:
    key, empty, asked = recorded("dialler")
    for at in range(len(asked.value)):
        acceptor = accepting(chance=drawn("acceptor"))
        acceptor.feed(joined([key, empty]))
        damaged = bytearray(asked.value)
        damaged[at] ^= 1 << at % 8
        refused(acceptor, serialize(tags.SEALED, bytes(damaged)))


@pytest.mark.parametrize(
    "order",
    [[0, 0], [1], [0, 2], [0, 1, 0], [0, 1, 1]],
    ids=["replayed", "reordered", "missing", "an old one", "the last one again"],
)
def test_a_sealed_value_out_of_turn_ends_it(order: list[int]) -> None:
    dialler, acceptor = connected()
    wires = []
    for _ in range(3):
        dialler.send(HELLO)
        wires.append(dialler.take())
    for number in order[:-1]:
        assert acceptor.feed(wires[number]) == [HELLO]
    refused(acceptor, wires[order[-1]])


def test_a_value_too_short_to_be_sealed_ends_it() -> None:
    for size in (0, 11, 12, 27):
        _, acceptor = connected()
        value = (1).to_bytes(12, "big")[:size] + bytes(max(0, size - 12))
        refused(acceptor, serialize(tags.SEALED, value))


def test_what_one_said_is_not_taken_as_said_by_the_other() -> None:
    dialler, acceptor = connected()
    dialler.send(HELLO)
    refused(dialler, dialler.take())
    assert acceptor.is_open


def test_a_recorded_connection_gives_nothing_to_who_replays_it() -> None:
    """The handshake is taken, as it must be; but it proves nobody, and what follows is noise."""
    acceptor = accepting()
    key, *sealed = recorded("dialler")
    assert acceptor.feed(serialize(*key)) == []
    acceptor.send(HELLO)
    assert acceptor.peer is None
    assert [(tlv.tag, len(tlv.value)) for tlv in outer(acceptor.take())][1:] == [(tags.SEALED, 28)]
    refused(acceptor, joined(sealed))
    assert acceptor.peer is None


def test_a_recorded_answer_gives_nothing_to_who_replays_it() -> None:
    """Also when the dialler's clock stands still, so that even `at` is the same."""
    key, *sealed = recorded("acceptor")
    dialler = dialled(now_ms=VECTORS["at"])
    dialler.send(HELLO)
    dialler.take()
    dialler.feed(serialize(*key))
    assert dialler.peer is None
    assert dialler.take() == b""
    refused(dialler, joined(sealed))
    assert dialler.peer is None


def test_a_recorded_answer_to_another_connection_ends_it() -> None:
    for now_ms in (VECTORS["at"] - 10, VECTORS["at"] + 10):
        refused(dialled(now_ms=now_ms), serialize(*recorded("acceptor")[0]))


def test_somebody_else_in_place_of_the_expected_one_is_refused() -> None:
    """The name is over all keys, so the same RSA key with others beside it is somebody else."""
    dialler, thief = dialled(), accepting(MALLORY)
    thief.feed(dialler.take())
    with pytest.raises(AuthenticationError, match="in place of"):
        dialler.feed(thief.take())
    assert dialler.peer is None


def test_a_handshake_for_another_key_is_refused() -> None:
    stream = SealedStream.dial(DIALLER, ACCEPTOR.hashname, DIALLER.keys[0x2A], NOW_MS, CHANCE)
    refused(accepting(), stream.take())


def test_a_name_claimed_with_anothers_key_is_refused() -> None:
    """The signature is of the dialler, the key in the handshake the acceptor's."""

    class Liar(Identity):
        __slots__ = ()

    liar = Liar({0x2A: DIALLER.pairs[0x2A], 0x40: DIALLER.pairs[0x40]})
    honest = liar.local[0x2A]

    class LyingKey:
        csid = 0x2A
        key = ACCEPTOR.keys[0x2A]
        open, verify, exchange = honest.open, honest.verify, honest.exchange

    liar.local = {0x2A: LyingKey()}
    victim = accepting()
    stream = SealedStream.dial(liar, ACCEPTOR.hashname, ACCEPTOR.keys[0x2A], NOW_MS, CHANCE)
    with pytest.raises(AuthenticationError, match="holder"):
        victim.feed(stream.take())


def test_nobody_talks_to_itself() -> None:
    refused(accepting(), dialled(ACCEPTOR).take())
