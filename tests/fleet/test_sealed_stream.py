"""F8: every TCP connection sets up cryptography at once, and nothing else gets through.

Each test runs in cipher set 2a, in 40, and in 40 as offered inside of a handshake in 2a.
"""

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
from rookery.fleet import sealed_stream
from rookery.fleet.sealed_stream import STRANGER_SIZE_MAX, SealedStream
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.identity import Identity
from rookery.link.session.exchange import Exchange
from rookery.wire.fleet import tags
from rookery.wire.fleet.tlv import HEAD_SIZE, Tlv, TlvReader, serialize
from tests.fleet.identities import ACCEPTOR, DIALLER, VECTORS

CHANCE = random.Random(7).randbytes
NOW_MS = 1_800_000_000_000
HELLO = Tlv(tags.ASK, b"hello")
WORLD = Tlv(tags.DIRECT, b"world")
EMPTY = {True: (tags.SEALED, 28), False: (tags.SEALED, 24)}  # whether it is 2a

WAYS = {"2a": (0x2A,), "40": (0x40,), "offered": (0x40, 0x2A)}


class Way:
    """How the streams of the tests that run now are made."""

    name = "2a"


@pytest.fixture(scope="module", autouse=True, params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    Way.name = request.param
    return Way.name


def is_rsa() -> bool:
    return Way.name == "2a"


def keys(identity: Identity = ACCEPTOR) -> dict[int, bytes]:
    return {csid: identity.keys[csid] for csid in WAYS[Way.name]}


def earlier(identity: Identity) -> Identity:
    """The same keys in a program that seals streams with 2a alone."""
    made = Identity(identity.pairs)
    made.local = {0x2A: identity.local[0x2A]}
    return made


def dialled(
    identity: Identity = DIALLER, now_ms: int = NOW_MS, chance: RandomBytes = CHANCE
) -> SealedStream:
    return SealedStream.dial(identity, ACCEPTOR.hashname, keys(), now_ms, chance)


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
    rsa = [VECTORS[name][key] for key in ("scalar", "message_key", "iv")]
    better = [VECTORS["40"][name][key] for key in ("ephemeral", "nonce")]
    is_offering = Way.name == "offered" and name == "dialler"
    texts = rsa if is_rsa() else better + rsa if is_offering else better
    draws: Iterator[bytes] = map(bytes.fromhex, texts)
    return lambda size: next(draws)


def recorded(name: str) -> list[Tlv]:
    rows = VECTORS if is_rsa() else VECTORS["40"]
    key, *sealed = (Tlv(tag, bytes.fromhex(value)) for tag, value in rows[name]["stream"])
    if Way.name == "offered" and name == "dialler":
        key = Tlv(tags.KEY, bytes.fromhex(VECTORS["offered"]))
    return [key, *sealed]


def clock() -> int:
    """Of the recorded connection."""
    at: int = VECTORS["at"]
    return at


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
    assert [(tlv.tag, len(tlv.value)) for tlv in outer(acceptor.take())] == [EMPTY[is_rsa()]]


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
        dialler = SealedStream.dial(from_key, to_key.hashname, keys(to_key), now_ms, CHANCE)
        acceptor = accepting(to_key)
        acceptor.feed(dialler.take())
        dialler.feed(acceptor.take())
        acceptor.feed(dialler.take())
        assert acceptor.peer == from_key.hashname


def test_an_identity_without_such_a_key_is_told_so() -> None:
    other = Identity.generate((0x3A,), CHANCE)
    with pytest.raises(UsageError):
        SealedStream.accept(other, CHANCE)
    with pytest.raises(UsageError):
        dialled(other)


def test_a_key_that_is_none_is_noticed_when_dialling() -> None:
    with pytest.raises(DecodeError):
        SealedStream.dial(DIALLER, ACCEPTOR.hashname, dict.fromkeys(keys(), b"key"), NOW_MS, CHANCE)


# Vectors


def test_an_acceptor_reads_and_writes_the_vectors() -> None:
    acceptor = accepting(chance=drawn("acceptor"))
    assert acceptor.feed(joined(recorded("dialler"))) == inner("dialler")
    assert acceptor.peer == VECTORS["dialler"]["hashname"]
    # OAEP is random by itself.
    assert outer(acceptor.take())[is_rsa() :] == recorded("acceptor")[is_rsa() : 2]


def test_a_dialler_reads_and_writes_the_vectors() -> None:
    dialler = dialled(now_ms=clock(), chance=drawn("dialler"))
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
    dialler = dialled(now_ms=clock(), chance=drawn("dialler"))
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


@pytest.mark.parametrize("head", [b"", b"\x3a", b"\x2a\x2a", b'{"type":"link"}'])
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
    head = 12 if is_rsa() else 8
    for size in (0, head - 1, head, head + 15):
        _, acceptor = connected()
        value = (1).to_bytes(head, "big")[:size] + bytes(max(0, size - head))
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
    assert [(tlv.tag, len(tlv.value)) for tlv in outer(acceptor.take())][1:] == [EMPTY[is_rsa()]]
    refused(acceptor, joined(sealed))
    assert acceptor.peer is None


def test_a_recorded_answer_gives_nothing_to_who_replays_it() -> None:
    """Also when the dialler's clock stands still, so that even `at` is the same."""
    key, *sealed = recorded("acceptor")
    dialler = dialled(now_ms=clock())
    dialler.send(HELLO)
    dialler.take()
    dialler.feed(serialize(*key))
    assert dialler.peer is None
    assert dialler.take() == b""
    refused(dialler, joined(sealed))
    assert dialler.peer is None


def test_a_recorded_answer_to_another_connection_ends_it() -> None:
    for now_ms in (clock() - 10, clock() + 10):
        refused(dialled(now_ms=now_ms), serialize(*recorded("acceptor")[0]))


def test_somebody_else_in_place_of_the_expected_one_is_refused() -> None:
    """The name is over all keys, so the same key with others beside it is somebody else."""
    # Can open what is for the acceptor, but says that it is somebody else.
    csid = WAYS[Way.name][-1]
    dialler, thief = dialled(), accepting(Identity({csid: ACCEPTOR.pairs[csid]}))
    thief.feed(dialler.take())
    with pytest.raises(AuthenticationError, match="in place of"):
        dialler.feed(thief.take())
    assert dialler.peer is None


def test_a_handshake_for_another_key_is_refused() -> None:
    stream = SealedStream.dial(DIALLER, ACCEPTOR.hashname, keys(DIALLER), NOW_MS, CHANCE)
    refused(accepting(), stream.take())


def test_a_name_claimed_with_anothers_key_is_refused() -> None:
    """The signature is of the dialler, the key in the handshake the acceptor's."""

    class Liar(Identity):
        __slots__ = ()

    liar, csid = Liar(DIALLER.pairs), WAYS[Way.name][0]
    honest = liar.local[csid]

    class LyingKey:
        key = ACCEPTOR.keys[WAYS[Way.name][0]]
        open, verify, exchange = honest.open, honest.verify, honest.exchange

        @property
        def csid(self) -> int:
            return csid

    liar.local = {**liar.local, csid: LyingKey()}
    victim = accepting()
    stream = SealedStream.dial(liar, ACCEPTOR.hashname, keys(), NOW_MS, CHANCE)
    with pytest.raises(AuthenticationError, match="holder"):
        victim.feed(stream.take())


def test_nobody_talks_to_itself() -> None:
    refused(accepting(), dialled(ACCEPTOR).take())


# Which cipher set


def both() -> SealedStream:
    """Who does not know what the acceptor takes."""
    return SealedStream.dial(DIALLER, ACCEPTOR.hashname, ACCEPTOR.keys, NOW_MS, CHANCE)


def test_both_ends_know_what_they_seal_with() -> None:
    dialler, acceptor = dialled(), accepting()
    assert dialler.csid is acceptor.csid is None
    ends = connected()
    assert [end.csid for end in ends] == [0x2A if is_rsa() else 0x40] * 2


def test_an_earlier_acceptor_answers_an_offer_in_2a() -> None:
    dialler, acceptor = both(), accepting(earlier(ACCEPTOR))
    acceptor.feed(dialler.take())
    dialler.feed(acceptor.take())
    dialler.send(HELLO)
    assert acceptor.feed(dialler.take()) == [HELLO]
    assert (dialler.csid, acceptor.csid) == (0x2A, 0x2A)
    assert (dialler.peer, acceptor.peer) == (ACCEPTOR.hashname, DIALLER.hashname)


def test_an_earlier_dialler_is_answered_in_2a() -> None:
    dialler = SealedStream.dial(earlier(DIALLER), ACCEPTOR.hashname, ACCEPTOR.keys, NOW_MS, CHANCE)
    acceptor = accepting()
    acceptor.feed(dialler.take())
    dialler.feed(acceptor.take())
    acceptor.feed(dialler.take())
    assert (acceptor.csid, acceptor.peer) == (0x2A, DIALLER.hashname)


def test_who_knows_better_takes_no_answer_in_2a() -> None:
    """Somebody with the acceptor's RSA key alone, and one who has a recorded answer in 2a."""
    knowing = {0x40: ACCEPTOR.keys[0x40]}
    answering = accepting(earlier(ACCEPTOR))
    answering.feed(both().take())
    recording = Tlv(tags.KEY, bytes.fromhex(VECTORS["acceptor"]["stream"][0][1]))
    for answer in (answering.take(), serialize(*recording)):
        dialler = SealedStream.dial(DIALLER, ACCEPTOR.hashname, knowing, NOW_MS, CHANCE)
        dialler.take()
        refused(dialler, answer)


def test_who_is_known_to_know_better_is_not_let_in_with_less() -> None:
    insisting = SealedStream.accept(ACCEPTOR, CHANCE, {DIALLER.hashname})
    if is_rsa():
        refused(insisting, dialled().take())
    else:
        insisting.feed(dialled().take())
        assert insisting.take()
    others = SealedStream.accept(ACCEPTOR, CHANCE, {ACCEPTOR.hashname})
    others.feed(dialled().take())
    assert others.take()


def offering(offer: bytes) -> bytes:
    """KEY in 2a with that for an offer."""
    local = DIALLER.local[0x2A]
    exchange = Exchange(
        local,
        DIALLER.intermediates(0x2A),
        ACCEPTOR.keys[0x2A],
        at=NOW_MS,
        random=CHANCE,
        offer=offer,
    )
    return serialize(tags.KEY, exchange.handshake())


@settings(max_examples=30, deadline=None)
@given(st.binary(min_size=1, max_size=300))
def test_an_offer_that_is_none_ends_it(offer: bytes) -> None:
    refused(accepting(), offering(offer))
    refused(accepting(), offering(b"\x00\x01\x40" + offer))


def test_an_offer_of_another_set_ends_it() -> None:
    less = bytes.fromhex(VECTORS["dialler"]["stream"][0][1])
    refused(accepting(), serialize(tags.KEY, less)[:4] + b"\x00\x01\x3a" + less[3:])
    refused(accepting(), offering(less[:300]))


def test_a_recorded_offer_in_an_envelope_of_somebody_else_proves_nobody() -> None:
    """It is the same as the offer on its own: a handshake that can be replayed."""
    better = bytes.fromhex(VECTORS["40"]["dialler"]["stream"][0][1])
    acceptor = accepting()
    acceptor.feed(offering(better))
    assert acceptor.peer is None
    _, *sealed = VECTORS["40"]["dialler"]["stream"]
    refused(acceptor, joined([Tlv(tag, bytes.fromhex(value)) for tag, value in sealed]))


def test_a_handshake_with_an_offer_is_a_strangers_of_bounded_size() -> None:
    ((_, value),) = outer(both().take())
    assert len(value) < STRANGER_SIZE_MAX


def test_no_two_connections_and_no_two_directions_share_a_key() -> None:
    """All of them say the same; the counters are the same, so equal keys would show."""
    said = set()
    for _ in range(3):
        dialler, acceptor = connected()
        for end in (dialler, acceptor):
            end.send(HELLO)
            said.add(end.take())
    assert len(said) == 6


def test_a_stream_ends_before_its_numbers_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_stream, "_COUNT_MAX", 3)
    dialler, acceptor = connected()
    for _ in range(2):
        dialler.send(HELLO)
        assert acceptor.feed(dialler.take()) == [HELLO]
    with pytest.raises(UnreachableError):
        dialler.send(HELLO)
    assert dialler.take() == b""
    refused(acceptor, serialize(tags.SEALED, bytes(40)))
