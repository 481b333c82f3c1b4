"""Sequence ids: one 16-bit counter per tower, and care that no number comes back too early.

A receiver of QoS 2 takes a packet with a number it has seen from us in the last 15 s for a copy.
A tower that sends a lot comes round sooner than that, so the numbers that QoS 2 used towards an
address are passed over there until the receiver has forgotten them.

The first number is random: a tower that restarts must not look like its former self.
"""

from collections.abc import Container
from typing import Final

from rookery.identity.cipher_set import RandomBytes
from rookery.wire.crow.packet import SEQID_MODULUS

SPENT_S: Final = 20.0  # the receiver's memory, and the time of all repeats before it
_SPENT_MAX: Final = 1 << 17  # in either generation; more than 6,500 QoS 2 packets a second
# When this many in a row are spent, almost every number went to that one address. A receiver keeps
# only the last few thousand of them, so the next one may be used.
_SPENT_RUN_MAX: Final = 8


class SequenceIds:
    """Hands out the numbers."""

    __slots__ = ("_next", "_older", "_recent", "_turn_at")

    def __init__(self, random: RandomBytes) -> None:
        self._next = int.from_bytes(random(2), "little")
        # Hashes of address and number: a false match only passes a number over.
        self._recent: set[int] = set()
        self._older: set[int] = set()
        self._turn_at = 0.0

    def __len__(self) -> int:
        """Numbers remembered as spent."""
        return len(self._recent) + len(self._older)

    def take(self) -> int:
        """The next number."""
        seqid = self._next
        self._next = (seqid + 1) % SEQID_MODULUS
        return seqid

    def take_free(self, in_use: Container[int]) -> int:
        """The next number that is not in use."""
        seqid = self._next
        while seqid in in_use:
            seqid = (seqid + 1) % SEQID_MODULUS
        self._next = (seqid + 1) % SEQID_MODULUS
        return seqid

    def take_unspent(self, address: bytes, in_use: Container[int], now: float) -> int:
        """The next number that the receiver at the address will not take for a copy."""
        if now >= self._turn_at or len(self._recent) >= _SPENT_MAX:
            self._turn(now)
        seqid = self.take_free(in_use)
        key = hash((address, seqid))
        if key in self._recent or key in self._older:
            seqid = self._pass_over(address, seqid, in_use)
            key = hash((address, seqid))
        self._recent.add(key)
        return seqid

    def reserve(self, address: bytes, count: int, now: float) -> int:
        """The first of so many numbers in a row, none of which was spent at the address."""
        if now >= self._turn_at or len(self._recent) >= _SPENT_MAX:
            self._turn(now)
        first = self._next
        for _ in range(_SPENT_RUN_MAX):
            spent = self._last_spent(address, first, count)
            if spent is None:
                break
            first = (spent + 1) % SEQID_MODULUS
        run = [(first + index) % SEQID_MODULUS for index in range(count)]
        self._recent.update(hash((address, seqid)) for seqid in run)
        self._next = (first + count) % SEQID_MODULUS
        return first

    def _last_spent(self, address: bytes, first: int, count: int) -> int | None:
        for index in reversed(range(count)):
            seqid = (first + index) % SEQID_MODULUS
            key = hash((address, seqid))
            if key in self._recent or key in self._older:
                return seqid
        return None

    def _pass_over(self, address: bytes, oldest: int, in_use: Container[int]) -> int:
        seqid = oldest
        for _ in range(_SPENT_RUN_MAX):
            key = hash((address, seqid))
            if key not in self._recent and key not in self._older:
                return seqid
            seqid = self.take_free(in_use)
        self._next = (oldest + 1) % SEQID_MODULUS
        return oldest

    def _turn(self, now: float) -> None:
        was_idle = now >= self._turn_at + SPENT_S
        self._older = set() if was_idle else self._recent
        self._recent = set()
        self._turn_at = now + SPENT_S
