"""Cloaking: one or more rounds of a public cipher, so that no byte on the wire is recognisable.

    | nonce | ChaCha20(sha256("telehash"), nonce, packet or another round) |
    |   8   |                              ...                             |

The cipher is the original ChaCha20: 64-bit nonce, 64-bit block counter from zero. Packets begin
with a zero byte as long as their head is shorter than 256 bytes, and a nonce never does. This is
disguise, not secrecy: the key is public.
"""

from hashlib import sha256
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from rookery.errors import DecodeError
from rookery.wire.link.lob import Packet

NONCE_SIZE: Final = 8
ROUNDS_MAX: Final = 5  # public peers send one; published examples have up to five

_KEY: Final = sha256(b"telehash").digest()
_BLOCK_COUNTER: Final = bytes(8)
_ROUND_SIZE_MIN: Final = NONCE_SIZE + 2  # the smallest packet is two bytes
_HEAD_SIZE: Final = NONCE_SIZE * (ROUNDS_MAX - 1) + 1  # with the first byte below the last round

# Setting up a cipher costs four times as much as cloaking a packet, so contexts are reused;
# taking one out of the list while it works keeps threads apart.
_idle: list[CipherContext] = []


def cloak(data: bytes, nonce: bytes) -> bytes:
    """One round around `data`, under 8 random bytes."""
    assert len(nonce) == NONCE_SIZE
    if nonce[0] == 0:  # would look like an uncloaked packet
        nonce = b"\x01" + nonce[1:]
    return nonce + _apply(nonce, data)


def reveal(data: bytes | memoryview) -> Packet:
    """The packet under any number of rounds, none included, or DecodeError."""
    if data[2:3] == b"{" and data[0] and (plain := _plain(data)) is not None:
        return plain
    if data[:1] != b"\0":
        data = _stripped(data)
        for _ in range(_rounds_left(data)):
            data = _stripped(data)
    return Packet.parse(data)


def _stripped(data: bytes | memoryview) -> bytes:
    """What is under one round."""
    if len(data) < _ROUND_SIZE_MIN:
        raise DecodeError("neither a packet nor a cloaked one")
    return _apply(data[:NONCE_SIZE], data[NONCE_SIZE:])


def _rounds_left(data: bytes) -> int:
    """How many rounds there are after the first; how long the datagram is makes no difference."""
    if data[:1] == b"\0":
        return 0
    head, size = data[:_HEAD_SIZE], len(data)
    for rounds in range(1, ROUNDS_MAX):
        if size < _ROUND_SIZE_MIN:
            break
        head = _apply(head[:NONCE_SIZE], head[NONCE_SIZE:])
        size -= NONCE_SIZE
        if head[:1] == b"\0":
            return rounds
    raise DecodeError("neither a packet nor a cloaked one")


def _apply(nonce: bytes | memoryview, data: bytes | memoryview) -> bytes:
    try:
        cipher = _idle.pop()
    except IndexError:
        cipher = Cipher(ChaCha20(_KEY, bytes(16)), None).encryptor()
    cipher.reset_nonce(_BLOCK_COUNTER + nonce)
    result = cipher.update(data)
    _idle.append(cipher)
    return result


def _plain(data: bytes | memoryview) -> Packet | None:
    """An uncloaked packet whose JSON head is so long that its first byte is not zero.

    Asking first is cheap, and safer than asking after the rounds failed: those end in a zero byte
    by chance once in 256. Cloaked bytes do not form 256 bytes of JSON by chance.
    """
    try:
        packet = Packet.parse(data)
        packet.json  # noqa: B018  asked only whether it is JSON
    except DecodeError:
        return None
    return packet
