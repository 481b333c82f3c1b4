import random
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, CongestionError, DecodeError
from rookery.identity.cipher_set import KeyPair, MessageCipher
from rookery.identity.cs40 import NO_AES, CipherSet40, LocalKey40
from rookery.identity.cs40_session import (
    COUNTER_MAX,
    Aead,
    Counter40,
    Ephemeral40,
    Keys40,
    Session40,
)
from rookery.wire.link.renewal import RenewalFrame

VECTORS_FOLDER = Path(__file__).parents[1] / "vectors"


class Party(msgspec.Struct):
    secret: str
    key: str
    ephemeral_secret: str
    ephemeral: str
    token: str

    def local(self, flags: int = 0) -> LocalKey40:
        return CipherSet40(flags).load(KeyPair(bytes.fromhex(self.key), bytes.fromhex(self.secret)))


class Message(msgspec.Struct):
    sender: str = msgspec.field(name="from")
    flags: int
    nonce: str
    inner: str
    message_key: str
    mac_key: str
    body: str


class ChannelPacket(msgspec.Struct):
    counter: int
    inner: str
    part: str


class Channel(msgspec.Struct):
    sender: str = msgspec.field(name="from")
    aead: str
    key: str
    token: str
    packets: list[ChannelPacket]


class Frame(msgspec.Struct):
    head: str
    body: str

    def parse(self) -> RenewalFrame:
        return RenewalFrame.parse(bytes.fromhex(self.head), bytes.fromhex(self.body))


class Sealed(msgspec.Struct):
    key: str
    packets: list[ChannelPacket]


class Renewed(msgspec.Struct):
    aead: str
    phase: int
    initiator: str = msgspec.field(name="from")
    chain: str
    offer_secret: str
    answer_secret: str
    frames: list[Frame]
    sealed: dict[str, Sealed]


class Vectors(msgspec.Struct):
    alice: Party
    bob: Party
    messages: list[Message]
    channels: list[Channel]
    binding: str
    renewals: list[Renewed]

    def parties(self, sender: str) -> tuple[Party, Party]:
        return {"alice": (self.alice, self.bob), "bob": (self.bob, self.alice)}[sender]

    def message(self, sender: str, flags: int) -> bytes:
        found = (m for m in self.messages if (m.sender, m.flags) == (sender, flags))
        return bytes.fromhex(next(found).body)


VECTORS = msgspec.json.decode((VECTORS_FOLDER / "cs40.json").read_bytes(), type=Vectors)
CHANCE = random.Random(40).randbytes
TOKEN = bytes(16)


def drawing(*values: str) -> Callable[[int], bytes]:
    queue = iter(values)

    def draw(size: int) -> bytes:
        value = bytes.fromhex(next(queue))
        assert len(value) == size
        return value

    return draw


def session_of(aead: Callable[[], Aead], start: int = 0, key: bytes | None = None) -> Session40:
    """What it seals it opens itself."""
    ephemeral = Ephemeral40(bytes(32))
    ephemeral.counter = Counter40(start)
    return Session40(Keys40(aead, aead, key), ephemeral)


def exchange(sender: Party, receiver: Party, flags: int, *nonces: str) -> MessageCipher:
    random = drawing(sender.ephemeral_secret, *nonces)
    return sender.local(flags).exchange(bytes.fromhex(receiver.key), random)


def test_the_committed_vectors_are_what_the_script_makes() -> None:
    script = runpy.run_path(str(VECTORS_FOLDER / "make_cs40.py"))
    assert script["text"]() == (VECTORS_FOLDER / "cs40.json").read_text()


def test_the_page_shows_the_same_vectors() -> None:
    page = Path(__file__).parents[2] / "docs" / "protocol" / "cipher-set-40.md"
    shown = re.findall(r"\b[0-9a-f]{20,}\b", page.read_text())
    assert len(shown) > 15
    committed = (VECTORS_FOLDER / "cs40.json").read_text()
    assert [value for value in shown if value not in committed] == []


@pytest.mark.parametrize("case", VECTORS.messages, ids=lambda case: f"{case.sender} {case.flags}")
def test_messages_are_made_and_opened_as_the_vectors_say(case: Message) -> None:
    sender, receiver = VECTORS.parties(case.sender)
    body, inner = bytes.fromhex(case.body), bytes.fromhex(case.inner)
    ours = exchange(sender, receiver, case.flags, case.nonce)
    assert ours.seal(inner) == body
    assert ours.token == bytes.fromhex(sender.token)
    opened = receiver.local().open(body)
    receiver.local().verify(opened, bytes.fromhex(sender.key))
    assert opened.inner == inner


@pytest.mark.parametrize("case", VECTORS.channels, ids=lambda case: f"{case.sender} {case.aead}")
def test_channel_packets_are_made_and_opened_as_the_vectors_say(case: Channel) -> None:
    sender, receiver = VECTORS.parties(case.sender)
    flags = {"aes-256-gcm": 0, "chacha20-poly1305": NO_AES}[case.aead]
    token = bytes.fromhex(case.token)
    receiver_name = "bob" if case.sender == "alice" else "alice"
    sending = exchange(sender, receiver, flags).session(
        sender.local().open(VECTORS.message(receiver_name, flags))
    )
    receiving = exchange(receiver, sender, flags).session(
        receiver.local().open(VECTORS.message(case.sender, flags))
    )
    for packet in case.packets:
        inner, part = bytes.fromhex(packet.inner), bytes.fromhex(packet.part)
        if packet.counter < 3:  # a sender counts from zero without a gap
            assert sending.seal(token, inner) == part
        assert receiving.open(token, part) == inner


@pytest.mark.parametrize(
    ("alice_flags", "bob_flags", "aead"),
    [
        (0, 0, "aes-256-gcm"),
        (NO_AES, 0, "chacha20-poly1305"),
        (0, NO_AES, "chacha20-poly1305"),
        (NO_AES, NO_AES, "chacha20-poly1305"),
        (0, 0xFE, "aes-256-gcm"),
    ],
)
def test_one_side_without_aes_is_enough_for_chacha(
    alice_flags: int, bob_flags: int, aead: str
) -> None:
    """Other bits of the flags have no meaning."""
    alice, bob = VECTORS.alice, VECTORS.bob
    nonce = "00" * 12
    to_bob = exchange(alice, bob, alice_flags, nonce)
    to_alice = exchange(bob, alice, bob_flags, nonce)
    ours = to_bob.session(alice.local().open(to_alice.seal(b"")))
    theirs = to_alice.session(bob.local().open(to_bob.seal(b"")))
    expected = next(c for c in VECTORS.channels if (c.sender, c.aead) == ("alice", aead))
    part = ours.seal(to_alice.token, bytes.fromhex(expected.packets[0].inner))
    assert part.hex() == expected.packets[0].part
    assert theirs.open(to_alice.token, part).hex() == expected.packets[0].inner


def test_the_flags_of_a_message_cannot_be_changed_in_transit() -> None:
    body = bytearray(VECTORS.message("alice", 0))
    body[32] ^= NO_AES
    with pytest.raises(AuthenticationError):
        VECTORS.bob.local().open(bytes(body))


def test_a_channel_packet_under_another_token_is_refused() -> None:
    case = VECTORS.channels[0]
    receiving = exchange(VECTORS.bob, VECTORS.alice, 0).session(
        VECTORS.bob.local().open(VECTORS.message("alice", 0))
    )
    part = bytes.fromhex(case.packets[0].part)
    with pytest.raises(AuthenticationError):
        receiving.open(TOKEN, part)
    assert receiving.open(bytes.fromhex(case.token), part)


def test_the_same_peer_ephemeral_gives_the_same_session_and_so_the_same_window() -> None:
    opened = VECTORS.bob.local().open(VECTORS.message("alice", 0))
    bob = exchange(VECTORS.bob, VECTORS.alice, 0)
    case = VECTORS.channels[0]
    token, part = bytes.fromhex(case.token), bytes.fromhex(case.packets[0].part)
    bob.session(opened).open(token, part)
    with pytest.raises(AuthenticationError):
        bob.session(opened).open(token, part)


def test_counters_go_on_when_a_peer_returns_to_an_earlier_ephemeral() -> None:
    """A second session with the same keys must not start at zero again."""
    alice, bob = VECTORS.alice, VECTORS.bob
    first = bob.local().open(VECTORS.message("alice", 0))
    second = bob.local().open(alice.local().exchange(bytes.fromhex(bob.key), CHANCE).seal(b""))
    ours = exchange(bob, alice, 0)
    parts = [ours.session(opened).seal(TOKEN, b"same") for opened in (first, second, first)]
    assert [part[:8] for part in parts] == [n.to_bytes(8, "big") for n in range(3)]


@pytest.mark.parametrize("aead", [AESGCM, ChaCha20Poly1305])
def test_a_session_ends_before_its_counter_would_wrap(
    aead: type[AESGCM] | type[ChaCha20Poly1305],
) -> None:
    session = session_of(lambda: aead(bytes(32)), COUNTER_MAX)
    assert session.open(TOKEN, session.seal(TOKEN, b"last")) == b"last"
    with pytest.raises(CongestionError):
        session.seal(TOKEN, b"one too many")


@pytest.mark.parametrize("aead", [AESGCM, ChaCha20Poly1305])
@given(parts=st.lists(st.binary(max_size=200), max_size=6))
def test_a_packet_in_parts_is_sealed_as_the_whole(
    aead: type[AESGCM] | type[ChaCha20Poly1305], parts: list[bytes]
) -> None:
    key = bytes(32)

    def session() -> Session40:
        is_aes = aead is AESGCM
        return session_of(lambda: aead(key), 7, key if is_aes else None)

    views = [memoryview(bytearray(part)) for part in parts]
    sealed = session().seal_parts(TOKEN, views, b"prefix")
    assert sealed == session().seal(TOKEN, b"".join(parts), b"prefix")
    assert session().open(TOKEN, memoryview(sealed)[6:]) == b"".join(parts)


def test_parts_end_before_the_counter_would_wrap_too() -> None:
    key = bytes(32)
    session = session_of(lambda: AESGCM(key), COUNTER_MAX + 1, key)
    with pytest.raises(CongestionError):
        session.seal_parts(TOKEN, [b"one too many"], b"")


def test_a_forged_packet_does_not_use_up_its_counter() -> None:
    session = session_of(lambda: AESGCM(bytes(32)))
    part = session.seal(TOKEN, b"inner")
    with pytest.raises(AuthenticationError):
        session.open(TOKEN, part[:-1] + bytes([part[-1] ^ 1]))
    assert session.open(TOKEN, part) == b"inner"


@pytest.mark.parametrize("x", [0, 1, 2**255 - 19, 2**255 - 18])
def test_points_of_small_order_are_refused_as_key_and_as_ephemeral(x: int) -> None:
    point = x.to_bytes(32, "little")
    with pytest.raises(DecodeError):
        VECTORS.alice.local().exchange(point + bytes(32), CHANCE)
    opened = VECTORS.bob.local().open(VECTORS.message("alice", 0))
    with pytest.raises(DecodeError):
        VECTORS.bob.local().verify(opened, point + bytes(32))
    with pytest.raises(DecodeError):
        VECTORS.bob.local().open(point + VECTORS.message("alice", 0)[32:])


def test_the_signing_half_of_a_key_is_part_of_the_senders_identity() -> None:
    """T1: nobody can put another's signing key beside his own agreement key."""
    opened = VECTORS.bob.local().open(VECTORS.message("alice", 0))
    alice = bytes.fromhex(VECTORS.alice.key)
    other = bytes.fromhex(VECTORS.bob.key)
    with pytest.raises(AuthenticationError):
        VECTORS.bob.local().verify(opened, alice[:32] + other[32:])
