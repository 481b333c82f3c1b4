import random

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rookery.errors import DecodeError
from rookery.identity.cipher_set import KeyPair
from rookery.identity.cs2a import CipherSet2a, LocalKey2a

CHANCE = random.Random(0x2A).randbytes
PAIR = CipherSet2a().generate(CHANCE)


def local() -> LocalKey2a:
    return CipherSet2a().load(PAIR)


def public_der(key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def message_naming(ephemeral: bytes) -> bytes:
    """A message to ourselves by a sender who encrypts what he likes."""
    public = serialization.load_der_public_key(PAIR.key)
    assert isinstance(public, rsa.RSAPublicKey)
    block = public.encrypt(
        ephemeral, padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
    )
    return block + bytes(12) + AESGCM(ephemeral[-32:]).encrypt(bytes(12), bytes(256), block)


def test_a_secret_in_pkcs8_loads_as_well() -> None:
    """T7: the public implementation writes both forms."""
    private = serialization.load_der_private_key(PAIR.secret, None)
    secret = private.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    assert CipherSet2a().load(KeyPair(PAIR.key, secret)).key == PAIR.key


def rsa_der(modulus_bits: int, exponent: int) -> bytes:
    """A key that nobody has the secret of; only its form matters here."""
    modulus = (1 << (modulus_bits - 1)) + 1
    return public_der(rsa.RSAPublicNumbers(exponent, modulus).public_key())


def test_a_key_in_the_right_form_passes() -> None:
    CipherSet2a().check_key(rsa_der(2048, 65537))


@pytest.mark.parametrize(
    "key",
    [
        rsa_der(1024, 65537),
        rsa_der(2056, 65537),
        rsa_der(2048, 3),
        rsa_der(2048, 65539),  # as long as the right one
        rsa_der(2040, (1 << 23) + 1),  # one byte shorter, one byte longer
        public_der(ec.derive_private_key(1, ec.SECP256R1()).public_key()),
        bytes(294),
    ],
    ids=["short", "long", "small e", "other e", "2040 bits", "P-256", "zeros"],
)
def test_only_rsa_with_2048_bits_and_the_usual_exponent_is_a_key(key: bytes) -> None:
    with pytest.raises(DecodeError):
        CipherSet2a().check_key(key)


def test_a_secret_of_another_kind_is_refused() -> None:
    secret = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with pytest.raises(DecodeError):
        CipherSet2a().load(KeyPair(PAIR.key, secret))


def test_a_block_of_another_size_is_refused() -> None:
    with pytest.raises(DecodeError):
        local().open(message_naming(bytes(96)))


def test_an_ephemeral_off_the_curve_makes_no_session() -> None:
    ours = local().exchange(PAIR.key, CHANCE)
    opened = local().open(message_naming(b"\x04" + bytes(63) + b"\x01" + bytes(32)))
    with pytest.raises(DecodeError):
        ours.session(opened)


def test_a_scalar_out_of_range_is_drawn_again() -> None:
    draws = iter([bytes(32), b"\xff" * 32, bytes(31) + b"\x01", b"k" * 32, bytes(12)])
    opened = local().open(local().exchange(PAIR.key, lambda size: next(draws)).seal(b""))
    generator_x = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    assert opened.ephemeral[1:33].hex() == generator_x
