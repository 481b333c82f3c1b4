"""What every cipher set promises, asked of each of them."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, DecodeError, RemoteError
from rookery.identity.cipher_set import (
    CipherSession,
    KeyPair,
    LocalKey,
    MessageCipher,
    OpenedMessage,
    routing_token,
)
from rookery.identity.cipher_sets import KNOWN_CSIDS, cipher_set
from rookery.wire.link.lob import Packet


class Pair(msgspec.Struct):
    key: str
    secret: str

    def pair(self) -> KeyPair:
        return KeyPair(bytes.fromhex(self.key), bytes.fromhex(self.secret))


class Messages(msgspec.Struct):
    a: Pair = msgspec.field(name="A")
    b: Pair = msgspec.field(name="B")
    message_body_AB: str  # noqa: N815  the vector's own name
    message_body_BA: str  # noqa: N815
    inner_AB: str  # noqa: N815
    inner_BA: str  # noqa: N815
    token_AB: str  # noqa: N815
    token_BA: str  # noqa: N815


class OldHandshake(msgspec.Struct):
    a: Pair = msgspec.field(name="A")
    b: Pair = msgspec.field(name="B")
    packet_AB: str  # noqa: N815
    packet_BA: str  # noqa: N815
    AB_inner: str
    BA_inner: str
    AB_token: str
    BA_token: str


class Vectors(msgspec.Struct):
    cipher_set_messages: dict[str, Messages]
    old_key_handshake_1a: OldHandshake


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[1] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)

Random = Callable[[int], bytes]


class World(NamedTuple):
    """Two endpoints and a stranger, with an exchange each way."""

    alice: LocalKey
    bob: LocalKey
    eve: LocalKey
    to_bob: MessageCipher
    to_alice: MessageCipher

    def sessions(self) -> tuple[CipherSession, CipherSession]:
        return (
            self.to_bob.session(self.alice.open(self.to_alice.seal(b""))),
            self.to_alice.session(self.bob.open(self.to_bob.seal(b""))),
        )


def new_world(csid: int) -> World:
    chance = random.Random(csid).randbytes
    keys = cipher_set(csid)
    alice, bob, eve = (keys.load(keys.generate(chance)) for _ in range(3))
    return World(alice, bob, eve, alice.exchange(bob.key, chance), bob.exchange(alice.key, chance))


WORLDS = {csid: new_world(csid) for csid in KNOWN_CSIDS}
every_set = pytest.mark.parametrize(
    "world", WORLDS.values(), ids=[f"{csid:02x}" for csid in WORLDS]
)


def proved(local: LocalKey, body: bytes, sender: bytes) -> OpenedMessage:
    opened = local.open(body)
    local.verify(opened, sender)
    return opened


@pytest.mark.parametrize("csid", ["1a", "2a", "3a"])
def test_public_messages_open_and_prove_their_sender_in_both_directions(csid: str) -> None:
    """T7"""
    assert set(VECTORS.cipher_set_messages) == {"1a", "2a", "3a"}
    case, keys = VECTORS.cipher_set_messages[csid], cipher_set(int(csid, 16))
    a, b = keys.load(case.a.pair()), keys.load(case.b.pair())
    for sender, receiver, body, inner, token in (
        (a, b, case.message_body_AB, case.inner_AB, case.token_AB),
        (b, a, case.message_body_BA, case.inner_BA, case.token_BA),
    ):
        data = bytes.fromhex(body)
        assert proved(receiver, data, sender.key).inner == bytes.fromhex(inner)
        assert routing_token(data) == bytes.fromhex(token)
        with pytest.raises(AuthenticationError):
            proved(receiver, data, receiver.key)


def test_the_old_public_handshakes_of_1a_open_and_prove_their_sender() -> None:
    """T7"""
    case, keys = VECTORS.old_key_handshake_1a, cipher_set(0x1A)
    a, b = keys.load(case.a.pair()), keys.load(case.b.pair())
    for sender, receiver, data, inner, token in (
        (a, b, case.packet_AB, case.AB_inner, case.AB_token),
        (b, a, case.packet_BA, case.BA_inner, case.BA_token),
    ):
        packet = Packet.parse(bytes.fromhex(data))
        assert packet.head == b"\x1a"
        opened = proved(receiver, packet.body, sender.key)
        assert opened.inner == bytes.fromhex(inner)
        assert Packet.parse(opened.inner).body == sender.key
        assert routing_token(packet.body) == bytes.fromhex(token)


@every_set
@given(inner=st.binary(max_size=1500))
@settings(max_examples=15)
def test_a_message_opens_for_its_recipient_and_proves_its_sender(
    world: World, inner: bytes
) -> None:
    """T2"""
    body = world.to_bob.seal(inner)
    assert proved(world.bob, body, world.alice.key).inner == inner
    assert routing_token(body) == world.to_bob.token
    with pytest.raises(RemoteError):
        proved(world.bob, body, world.eve.key)
    with pytest.raises(RemoteError):
        proved(world.eve, body, world.alice.key)


@every_set
def test_every_message_of_an_exchange_has_its_token_and_every_exchange_another(
    world: World,
) -> None:
    assert len(world.to_bob.token) == 16
    first, second = world.to_bob.seal(b"same"), world.to_bob.seal(b"same")
    assert first != second
    assert routing_token(first) == routing_token(second) == world.to_bob.token
    other = world.alice.exchange(world.bob.key, random.Random(7).randbytes)
    assert other.token != world.to_bob.token


@every_set
@given(data=st.data())
@settings(max_examples=40)
def test_a_message_with_any_changed_bit_is_refused(world: World, data: st.DataObject) -> None:
    body = bytearray(world.to_bob.seal(b"inner packet"))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(RemoteError):
        proved(world.bob, bytes(body), world.alice.key)


@every_set
@given(data=st.data())
@settings(max_examples=40)
def test_a_message_cut_short_is_refused(world: World, data: st.DataObject) -> None:
    body = world.to_bob.seal(b"inner packet")
    size = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(RemoteError):
        proved(world.bob, body[:size], world.alice.key)


@every_set
@given(body=st.binary(max_size=700))
@settings(max_examples=40)
def test_arbitrary_bytes_are_no_message(world: World, body: bytes) -> None:
    with pytest.raises(RemoteError):
        proved(world.bob, body, world.alice.key)


@every_set
@given(inners=st.lists(st.binary(max_size=1500), min_size=1, max_size=5))
@settings(max_examples=15)
def test_a_session_carries_packets_in_both_directions(world: World, inners: list[bytes]) -> None:
    """T2"""
    alice, bob = world.sessions()
    for inner in inners:
        assert bob.open(world.to_alice.token, alice.seal(world.to_alice.token, inner)) == inner
        assert alice.open(world.to_bob.token, bob.seal(world.to_bob.token, inner)) == inner


@every_set
@given(data=st.data())
@settings(max_examples=40)
def test_a_channel_packet_changed_or_cut_is_refused(world: World, data: st.DataObject) -> None:
    alice, bob = world.sessions()
    token = world.to_alice.token
    part = bytearray(alice.seal(token, b"inner packet"))
    at = data.draw(st.integers(0, len(part) - 1))
    cut = bytes(part[:at])
    part[at] ^= 1 << data.draw(st.integers(0, 7))
    for hostile in (bytes(part), cut):
        with pytest.raises(RemoteError):
            bob.open(token, hostile)


@every_set
def test_a_channel_packet_of_the_other_direction_or_of_another_session_is_refused(
    world: World,
) -> None:
    alice, bob = world.sessions()
    token = world.to_alice.token
    with pytest.raises(AuthenticationError):
        alice.open(token, alice.seal(token, b"inner"))
    again = world.alice.exchange(world.bob.key, random.Random(5).randbytes)
    stranger = again.session(world.alice.open(world.to_alice.seal(b"")))
    with pytest.raises(AuthenticationError):
        bob.open(token, stranger.seal(token, b"inner"))


@every_set
def test_only_a_replay_proof_session_refuses_a_repeated_packet(world: World) -> None:
    alice, bob = world.sessions()
    token = world.to_alice.token
    part = alice.seal(token, b"inner")
    assert bob.open(token, part) == b"inner"
    if not bob.replay_proof:
        assert bob.open(token, part) == b"inner"
        return
    with pytest.raises(AuthenticationError):
        bob.open(token, part)


@every_set
def test_equal_packets_never_look_equal_not_even_in_a_rebuilt_session(world: World) -> None:
    token = world.to_alice.token
    parts = []
    for _ in range(3):
        alice, _ = world.sessions()
        parts += [alice.seal(token, b"inner") for _ in range(3)]
    assert len(set(parts)) == len(parts)


@every_set
def test_a_key_of_the_wrong_size_is_refused(world: World) -> None:
    opened = world.bob.open(world.to_bob.seal(b""))
    keys = cipher_set(world.alice.csid)
    keys.check_key(world.bob.key)
    for key in (b"", world.alice.key[:-1], world.alice.key + b"\0"):
        with pytest.raises(DecodeError):
            keys.check_key(key)
        with pytest.raises(DecodeError):
            world.bob.verify(opened, key)
        with pytest.raises(DecodeError):
            world.alice.exchange(key, random.Random(1).randbytes)


@pytest.mark.parametrize("csid", KNOWN_CSIDS, ids=lambda csid: f"{csid:02x}")
def test_halves_of_different_pairs_do_not_load(csid: int) -> None:
    keys, chance = cipher_set(csid), random.Random(3).randbytes
    assert keys.csid == csid
    one, other = keys.generate(chance), keys.generate(chance)
    local = keys.load(one)
    assert (local.csid, local.key) == (csid, one.key)
    for pair in (
        KeyPair(one.key, other.secret),
        KeyPair(one.key, one.secret[:-1]),
        KeyPair(one.key, b""),
        KeyPair(b"", one.secret),
    ):
        with pytest.raises(DecodeError):
            keys.load(pair)


@every_set
def test_secrets_stay_out_of_every_repr(world: World) -> None:
    pair = cipher_set(world.alice.csid).generate(random.Random(9).randbytes)
    opened = world.bob.open(world.to_bob.seal(b"inner packet"))
    shown = f"{pair!r} {opened!r} {world.alice!r} {world.to_bob!r} {world.sessions()!r}"
    for secret in (pair.secret, opened.inner, opened.proof):
        assert secret.hex()[:12] not in shown
        assert repr(secret)[2:14] not in shown


@every_set
def test_a_rested_session_goes_on_where_it_was(world: World) -> None:
    alice, bob = world.sessions()
    token = world.to_alice.token
    early = alice.seal(token, b"early")
    assert bob.open(token, early) == b"early"
    for session in (alice, bob):
        session.rest()
    if bob.replay_proof:
        with pytest.raises(AuthenticationError):
            bob.open(token, early)
    assert bob.open(token, alice.seal(token, b"late")) == b"late"
