"""Pseudo-random numbers that are a function of seed, channel and number: nothing keeps state."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]

FIELDS = 4  # independent shares in one noise

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_FIELD_BITS = 16


def noise(seed: int, channel: int, numbers: Ints) -> Bits:
    """64 bits for each number, mixed as SplitMix64 does."""
    state = numbers.astype(np.uint64)
    state *= _ODD
    state += np.uint64((seed * 0xD1342543DE82EF95 + channel * 0x2545F4914F6CDD1D) % (1 << 64))
    state ^= state >> np.uint64(30)
    state *= _FIRST
    state ^= state >> np.uint64(27)
    state *= _SECOND
    state ^= state >> np.uint64(31)
    return state


def share(bits: Bits, field: int) -> Floats:
    """From 0 up to but not 1, in steps of 2⁻¹⁶."""
    part = (bits >> np.uint64(field * _FIELD_BITS)) & np.uint64(0xFFFF)
    return part.astype(np.float64) * 2.0**-_FIELD_BITS


def below(bits: Bits, field: int, bound: int) -> Ints:
    """Whole numbers from 0 up to but not the bound, which is at most 2¹⁶."""
    part = (bits >> np.uint64(field * _FIELD_BITS)) & np.uint64(0xFFFF)
    return ((part * np.uint64(bound)) >> np.uint64(_FIELD_BITS)).astype(np.int64)


def stepped(values: Floats, steps: int) -> Floats:
    """Cut to multiples of 1 / steps, a power of two, so that sums stay exact."""
    cut: Floats = np.floor(values * steps) * (1.0 / steps)
    return cut


def pair(one: Ints, other: Ints) -> Ints:
    """One number for two, the second of which is below 2³²."""
    return (one << 32) + other
