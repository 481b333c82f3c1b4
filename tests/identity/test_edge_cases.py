"""Published edge cases of the primitives, through the seams that packets and statements take."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from rookery.errors import AuthenticationError, DecodeError, RemoteError
from rookery.identity import signing, x25519
from rookery.identity.cipher_set import CipherSet
from rookery.identity.cs3a import CipherSet3a
from rookery.identity.cs40 import CipherSet40
from rookery.identity.cs40_session import Aead, Counter40, Ephemeral40, Keys40, Session40
from rookery.identity.realm import Realm, realm_id
from rookery.wire.mesh import statement as kinds
from rookery.wire.mesh.revocation import Revocation
from rookery.wire.mesh.statement import Statement

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "edge-cases.json").read_text())
CURVE, SIGNATURES = VECTORS["x25519"], VECTORS["ed25519"]
SMALL_ORDER = [bytes.fromhex(each) for each in CURVE["small_order"]]
FORGERY = bytes.fromhex(SIGNATURES["forgery"])
AEADS: dict[str, Callable[[bytes], Aead]] = {
    "aes-256-gcm": AESGCM,
    "chacha20-poly1305": ChaCha20Poly1305,
}
SETS: list[tuple[CipherSet, int]] = [(CipherSet3a(), 32), (CipherSet40(), 64)]


class Sealed(msgspec.Struct, frozen=True):
    name: str
    cipher: str
    key: str
    counter: str
    token: str
    sealed: str

    def session(self) -> Session40:
        """A new one, as each has seen no counter yet."""
        cipher = partial(AEADS[self.cipher], bytes.fromhex(self.key))
        ephemeral = Ephemeral40(bytes(32))
        ephemeral.counter = Counter40(int(self.counter, 16))
        return Session40(Keys40(cipher, cipher), ephemeral)

    def open(self, part: bytes) -> bytes:
        return self.session().open(bytes.fromhex(self.token), part)

    @property
    def part(self) -> bytes:
        return bytes.fromhex(self.counter + self.sealed)


SEALED = msgspec.convert(VECTORS["aead"], list[Sealed])
each_sealed = pytest.mark.parametrize("case", SEALED, ids=lambda case: case.name)


@pytest.mark.parametrize("case", CURVE["agreements"])
def test_published_agreements_hold(case: dict[str, str]) -> None:
    scalar, u = bytes.fromhex(case["scalar"]), bytes.fromhex(case["u"])
    assert x25519.agree(scalar, u).hex() == case["shared"]


@pytest.mark.parametrize("pair", CURVE["same"])
def test_a_point_in_another_writing_is_the_same_point(pair: list[str]) -> None:
    one, other = (x25519.agree(b"1" * 32, bytes.fromhex(each)) for each in pair)
    assert one == other


@pytest.mark.parametrize("point", SMALL_ORDER, ids=bytes.hex)
@pytest.mark.parametrize(("entry", "key_size"), SETS, ids=["3a", "40"])
def test_no_set_agrees_with_a_point_of_small_order(
    entry: CipherSet, key_size: int, point: bytes
) -> None:
    random = Random(1).randbytes
    local = entry.load(entry.generate(random))
    other = entry.load(entry.generate(random))
    message = other.exchange(local.key, random).seal(b"inner")
    with pytest.raises(DecodeError):  # as an ephemeral
        local.open(point + message[len(point) :])
    peer_key = point.ljust(key_size, b"k")
    with pytest.raises(DecodeError):  # as the key of whoever a message says it is from
        local.verify(local.open(message), peer_key)
    with pytest.raises(DecodeError):  # as the key of whom we would write to
        local.exchange(peer_key, random)


def test_the_published_signature_holds_and_no_other_writing_of_it() -> None:
    valid = SIGNATURES["valid"]
    key, message = bytes.fromhex(valid["key"]), bytes.fromhex(valid["message"])
    signing.verify(key, message, bytes.fromhex(valid["signature"]))
    with pytest.raises(AuthenticationError):
        signing.verify(key, message, bytes.fromhex(SIGNATURES["malleable"]))


@pytest.mark.parametrize("key", SIGNATURES["small_order_keys"])
@pytest.mark.parametrize("message", [b"", b"one", b"another", b"and more"])
def test_a_key_of_small_order_signs_nothing(key: str, message: bytes) -> None:
    for signature in (FORGERY, bytes.fromhex(key) + FORGERY[32:]):
        with pytest.raises(AuthenticationError):
            signing.verify(bytes.fromhex(key), message, signature)


@pytest.mark.parametrize("key", SIGNATURES["small_order_keys"])
def test_a_realm_of_small_order_says_nothing(key: str) -> None:
    root = bytes.fromhex(key)
    content = Revocation(1, "a" * 52, 1000, 2000, b"").content()
    statement = Statement(kinds.REVOCATION, realm_id(root), content, FORGERY)
    with pytest.raises(RemoteError):
        Realm("small", root).read(statement)


@each_sealed
def test_what_was_published_opens_and_is_sealed_the_same(case: Sealed) -> None:
    inner = case.open(case.part)
    assert case.session().seal(bytes.fromhex(case.token), inner) == case.part


@each_sealed
def test_a_channel_packet_with_any_bit_changed_is_refused(case: Sealed) -> None:
    for bit in range(8 * len(case.part)):
        damaged = bytearray(case.part)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(AuthenticationError):
            case.open(bytes(damaged))


@each_sealed
def test_a_channel_packet_cut_short_is_refused(case: Sealed) -> None:
    for size in range(len(case.part)):
        with pytest.raises(RemoteError):
            case.open(case.part[:size])


@each_sealed
def test_a_channel_packet_for_another_token_is_refused(case: Sealed) -> None:
    with pytest.raises(AuthenticationError):
        case.session().open(b"another", case.part)
