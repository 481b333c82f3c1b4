"""T7: real conversations of the public JavaScript implementation, datagram by datagram.

Everything a capture holds is opened with our code and made again from the same secrets and
nonces, byte for byte.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest
from _pytest.mark import ParameterSet
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from rookery.identity import cs1a, cs2a
from rookery.identity.cipher_set import KeyPair, LocalKey, MessageCipher, OpenedMessage
from rookery.identity.cipher_sets import cipher_set
from rookery.identity.hashname import hashname
from rookery.identity.identity import Identity
from rookery.wire.link.cloak import cloak, reveal
from rookery.wire.link.lob import JsonObject, Packet


class Ephemeral(msgspec.Struct):
    public: str
    secret: str
    aes_secret: str = ""


class Party(msgspec.Struct):
    hashname: str
    keys: dict[str, str]
    secrets: dict[str, str]
    order: int
    ephemeral: Ephemeral
    token: str
    channel_encrypt_key: str
    channel_decrypt_key: str


class Datagram(msgspec.Struct):
    n: int
    sender: str = msgspec.field(name="from")
    kind: str
    cloaked: str
    packet: str
    inner: str
    inner_json: JsonObject


class Capture(msgspec.Struct):
    csid: str
    alice: Party
    bob: Party
    datagrams: list[Datagram]

    def parties(self, datagram: Datagram) -> tuple[Party, Party]:
        """Who sent the datagram, and who received it."""
        both = {"alice": (self.alice, self.bob), "bob": (self.bob, self.alice)}
        return both[datagram.sender]


class Flow(msgspec.Struct):
    kind: str
    json: JsonObject
    inner: str


class Flows(msgspec.Struct):
    flows: dict[str, list[Flow]]


class Vectors(msgspec.Struct):
    captures: dict[str, Capture]
    flows_decrypted: Flows


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[1] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)


def datagrams(*kinds: str) -> list[ParameterSet]:
    return [
        pytest.param(capture, datagram, id=f"{csid}-{datagram.n}-{datagram.kind}")
        for csid, capture in VECTORS.captures.items()
        for datagram in capture.datagrams
        if datagram.kind in kinds
    ]


HANDSHAKES = datagrams("handshake")
CHANNEL_PACKETS = datagrams("channel")
DATAGRAMS = HANDSHAKES + CHANNEL_PACKETS


def test_the_captures_are_the_two_we_know_of() -> None:
    """So that an empty or shortened file does not pass for success."""
    sizes = {csid: len(capture.datagrams) for csid, capture in VECTORS.captures.items()}
    assert sizes == {"1a": 41, "2a": 40}
    assert len(DATAGRAMS) == sum(sizes.values())


def drawing(*values: str | bytes) -> Callable[[int], bytes]:
    """Randomness that comes out as the captured bytes, in this order."""
    queue: Iterator[bytes] = (
        bytes.fromhex(value) if isinstance(value, str) else value for value in values
    )

    def random(size: int) -> bytes:
        value = next(queue)
        assert len(value) == size
        return value

    return random


def key_pair(csid: str, party: Party) -> KeyPair:
    return KeyPair(bytes.fromhex(party.keys[csid]), bytes.fromhex(party.secrets[csid]))


def local_key(csid: str, party: Party) -> LocalKey:
    return loaded(csid, key_pair(csid, party))


@cache  # checking an RSA secret takes long, and every datagram needs it
def loaded(csid: str, pair: KeyPair) -> LocalKey:
    return cipher_set(int(csid, 16)).load(pair)


@cache
def rsa_key(secret: str) -> rsa.RSAPrivateKey:
    private = serialization.load_der_private_key(bytes.fromhex(secret), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    return private


def captured_exchange(capture: Capture, own: Party, peer: Party, iv: bytes) -> MessageCipher:
    """The exchange as `own` had it, about to use `iv`."""
    if capture.csid == "1a":
        random = drawing(own.ephemeral.secret, iv)
        return local_key("1a", own).exchange(bytes.fromhex(peer.keys["1a"]), random)
    private = rsa_key(own.secrets["2a"])
    ephemeral = ec.derive_private_key(int(own.ephemeral.secret, 16), ec.SECP256R1())
    message_key = bytes.fromhex(own.ephemeral.aes_secret)
    block = handshake_of(capture, own)[:256]
    return cs2a.MessageCipher2a(private, ephemeral, message_key, block, drawing(iv))


def handshake_of(capture: Capture, party: Party) -> bytes:
    """The body of the first handshake the party sent."""
    first = next(
        datagram
        for datagram in capture.datagrams
        if datagram.kind == "handshake" and capture.parties(datagram)[0] is party
    )
    return Packet.parse(bytes.fromhex(first.packet)).body


def opened_handshake(capture: Capture, sender: Party, receiver: Party) -> OpenedMessage:
    return local_key(capture.csid, receiver).open(handshake_of(capture, sender))


@pytest.mark.parametrize("capture", VECTORS.captures.values(), ids=VECTORS.captures)
def test_both_parties_have_the_hashname_of_their_keys(capture: Capture) -> None:
    """T1"""
    for party in (capture.alice, capture.bob):
        csid = capture.csid
        identity = Identity({int(csid, 16): key_pair(csid, party)})
        assert identity.hashname == party.hashname
    larger = max((capture.alice, capture.bob), key=lambda party: party.keys[capture.csid])
    assert larger.order == 1


@pytest.mark.parametrize(("capture", "datagram"), DATAGRAMS)
def test_every_datagram_decloaks_to_its_packet_and_back(
    capture: Capture, datagram: Datagram
) -> None:
    cloaked, packet = bytes.fromhex(datagram.cloaked), bytes.fromhex(datagram.packet)
    assert reveal(cloaked).serialize() == packet
    assert cloak(packet, cloaked[:8]) == cloaked
    assert Packet.parse(bytes.fromhex(datagram.inner)).json == datagram.inner_json


@pytest.mark.parametrize(("capture", "datagram"), HANDSHAKES)
def test_every_handshake_opens_and_proves_its_sender(capture: Capture, datagram: Datagram) -> None:
    sender, receiver = capture.parties(datagram)
    csid, ours = int(capture.csid, 16), local_key(capture.csid, receiver)
    packet = Packet.parse(bytes.fromhex(datagram.packet))
    assert packet.head == bytes([csid])
    opened = ours.open(packet.body)
    assert opened.inner == bytes.fromhex(datagram.inner)
    attached = Packet.parse(Packet.parse(opened.inner).body)
    assert attached.json == {capture.csid: None}
    assert hashname({csid: attached.body}) == sender.hashname
    ours.verify(opened, attached.body)


@pytest.mark.parametrize(("capture", "datagram"), HANDSHAKES)
def test_every_handshake_is_made_again_from_its_secrets(
    capture: Capture, datagram: Datagram
) -> None:
    sender, receiver = capture.parties(datagram)
    body = Packet.parse(bytes.fromhex(datagram.packet)).body
    iv = body[21:25] if capture.csid == "1a" else body[256:268]
    exchange = captured_exchange(capture, sender, receiver, iv)
    assert exchange.seal(bytes.fromhex(datagram.inner)) == body
    assert exchange.token == bytes.fromhex(sender.token)


@pytest.mark.parametrize(("capture", "datagram"), CHANNEL_PACKETS)
def test_every_channel_packet_opens_and_is_made_again(capture: Capture, datagram: Datagram) -> None:
    sender, receiver = capture.parties(datagram)
    packet, inner = Packet.parse(bytes.fromhex(datagram.packet)), bytes.fromhex(datagram.inner)
    token, part = packet.body[:16], packet.body[16:]
    assert packet.head == b""
    assert token == bytes.fromhex(receiver.token)

    receiving = captured_exchange(capture, receiver, sender, bytes(4)).session(
        opened_handshake(capture, sender, receiver)
    )
    assert receiving.open(token, part) == inner

    if capture.csid == "1a":
        sending = captured_exchange(capture, sender, receiver, part[:4]).session(
            opened_handshake(capture, receiver, sender)
        )
        assert sending.seal(token, inner) == part
    else:
        key = bytes.fromhex(sender.channel_encrypt_key)
        session = cs2a.Session2a(key, key, iter([int.from_bytes(part[:12], "big")]))
        assert session.seal(token, inner) == part


@pytest.mark.parametrize("capture", VECTORS.captures.values(), ids=VECTORS.captures)
def test_channel_keys_are_those_the_capture_names(capture: Capture) -> None:
    for own, peer in ((capture.alice, capture.bob), (capture.bob, capture.alice)):
        expected = bytes.fromhex(own.channel_encrypt_key), bytes.fromhex(own.channel_decrypt_key)
        ours, theirs = own.ephemeral, peer.ephemeral
        if capture.csid == "1a":
            peer_point = bytes.fromhex(theirs.public)
            agreement = cs1a.agree(bytes.fromhex(ours.secret), peer_point)
            keys = cs1a.channel_keys(agreement, bytes.fromhex(ours.public), peer_point)
        else:
            private = ec.derive_private_key(int(ours.secret, 16), ec.SECP256R1())
            public = ec.EllipticCurvePublicKey.from_encoded_point(
                ec.SECP256R1(), bytes.fromhex(theirs.public)
            )
            agreement = private.exchange(ec.ECDH(), public)
            own_key, peer_key = bytes.fromhex(ours.aes_secret), bytes.fromhex(theirs.aes_secret)
            keys = cs2a.channel_keys(agreement, own_key, peer_key)
        assert keys == expected


def test_ephemerals_come_from_the_injected_randomness() -> None:
    """Set 2a as well, whose block around them is the system's."""
    alice, bob = VECTORS.captures["2a"].alice, VECTORS.captures["2a"].bob
    random = drawing(alice.ephemeral.secret, alice.ephemeral.aes_secret, bytes(12))
    peer_key = bytes.fromhex(bob.keys["2a"])
    message = local_key("2a", alice).exchange(peer_key, random).seal(b"\0\0")
    opened = local_key("2a", bob).open(message)
    assert opened.ephemeral.hex() == alice.ephemeral.public + alice.ephemeral.aes_secret


@pytest.mark.parametrize("name", VECTORS.flows_decrypted.flows)
def test_every_decrypted_packet_of_a_flow_parses_to_its_json(name: str) -> None:
    flow = VECTORS.flows_decrypted.flows[name]
    assert flow
    for step in flow:
        data = bytes.fromhex(step.inner)
        assert Packet.parse(data).json == step.json
        assert Packet.parse(data).serialize() == data
