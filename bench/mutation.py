"""Hostile packets: real ones, damaged in every way that a wire or an enemy can think of.

A corpus holds packets as they were captured, before cloaking; a mutator draws from it by seed, so
that what broke something once can be sent again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from rookery.wire.link.cloak import cloak

SIZE_MAX = 1400
_ROUNDS_MAX = 3

Mutation = Callable[[Random, bytes, bytes], bytes]  # dice, a packet, another packet


@dataclass(frozen=True, slots=True)
class Corpus:
    """Captured packets by kind; each kind is drawn equally often.

    The `untouchable` are sent only damaged: whole, they would rightly be answered.
    """

    kinds: Sequence[Sequence[bytes]]
    untouchable: Sequence[bytes] = ()


class Mutator:
    """An endless supply, the same for the same seed; some of it is not damaged at all."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._dice = Random(seed)
        self._kinds = [*corpus.kinds, corpus.untouchable]
        self._untouchable = frozenset(corpus.untouchable)

    def packet(self) -> bytes:
        """A packet that may be plain, cloaked, or nothing of the kind."""
        dice = self._dice
        mutation = dice.choice(_MUTATIONS)
        packet = mutation(dice, self._original(), self._original())[:SIZE_MAX]
        if packet in self._untouchable:
            packet = flip(dice, packet)
        for _ in range(dice.randrange(_ROUNDS_MAX + 1) if dice.random() < 0.5 else 0):
            packet = cloak(packet, dice.randbytes(8))
        return flip(dice, packet) if dice.random() < 0.05 else packet

    def _original(self) -> bytes:
        return self._dice.choice(self._dice.choice(self._kinds))


def _replay(_: Random, packet: bytes, __: bytes) -> bytes:
    return packet


def flip(dice: Random, packet: bytes, _: bytes = b"") -> bytes:
    """Turn over some bits, each once: what is turned twice is whole again."""
    flipped = bytearray(packet or b"\0")
    for bit in dice.sample(range(8 * len(flipped)), dice.choice((1, 1, 2, 8))):
        flipped[bit >> 3] ^= 1 << (bit & 7)
    return bytes(flipped)


def _truncate(dice: Random, packet: bytes, _: bytes) -> bytes:
    return packet[: dice.randrange(len(packet))]


def _extend(dice: Random, packet: bytes, _: bytes) -> bytes:
    return packet + dice.randbytes(dice.randrange(1, 200))


def _overwrite(dice: Random, packet: bytes, _: bytes) -> bytes:
    start = dice.randrange(len(packet))
    noise = dice.randbytes(dice.randrange(1, 64))
    return (packet[:start] + noise + packet[start + len(noise) :])[: len(packet)]


def _splice(dice: Random, packet: bytes, other: bytes) -> bytes:
    return packet[: dice.randrange(len(packet))] + other[dice.randrange(len(other)) :]


def _wrong_length(dice: Random, packet: bytes, _: bytes) -> bytes:
    length = dice.choice((0, 1, 2, 6, 7, 8, 255, 256, 0x7FFF, 0x8000, 0xFFFF, len(packet)))
    return length.to_bytes(2, "big") + packet[2:]


def _hostile_json(dice: Random, _: bytes, __: bytes) -> bytes:
    head = dice.choice(_HEADS)
    return len(head).to_bytes(2, "big") + head + dice.randbytes(dice.randrange(64))


def _noise(dice: Random, _: bytes, __: bytes) -> bytes:
    return dice.randbytes(dice.randrange(1, 300))


def _other_cipher_set(dice: Random, packet: bytes, _: bytes) -> bytes:
    csid = dice.choice((0x1A, 0x2A, 0x3A, 0x40, dice.randrange(256)))
    return b"\x00\x01" + bytes([csid]) + packet[3:]


_MUTATIONS: tuple[Mutation, ...] = (
    _replay,
    flip,
    flip,
    _truncate,
    _extend,
    _overwrite,
    _splice,
    _wrong_length,
    _hostile_json,
    _noise,
    _other_cipher_set,
)

_HEADS = (
    b"[" * 600,
    b'{"c":' + b"9" * 400 + b"}",
    b'{"type":"path","paths":' + b"[" * 300 + b"]" * 300 + b"}",
    b'{"a":{"3a":1},"c":-1,"seq":true}',
    b'{"at":1e400,"type":"link"}',
    b'{"\xff\xfe":"\x00"}',
    b'{"type":"announce","3a":"","40":null}',
)
