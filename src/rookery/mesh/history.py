"""History: which of the other side's numbered beats have come, as one word of bits.

bit          0       1       2    …
sequence  highest    -1      -2         1 = it came; those before the very first do not count
"""

from rookery.wire.ping import HISTORY_SIZE

_MASK = (1 << HISTORY_SIZE) - 1


class History:
    """The last 64 beats of a peer."""

    __slots__ = ("_span", "bits", "highest")

    def __init__(self) -> None:
        self.highest = 0  # 0: none came yet
        self.bits = 0
        self._span = 0  # how many of the bits count

    def add(self, sequence: int) -> None:
        """A beat came, perhaps late or for the second time."""
        ahead = sequence - self.highest
        if self.highest == 0 or ahead <= -HISTORY_SIZE:
            # So far back is not late: the peer counts anew.
            self.highest, self.bits, self._span = sequence, 1, 1
        elif ahead > 0:
            self.highest = sequence
            self._span = min(self._span + ahead, HISTORY_SIZE)
            self.bits = (self.bits << min(ahead, HISTORY_SIZE) | 1) & _MASK
        elif sequence > 0 and -ahead < self._span:
            self.bits |= 1 << -ahead

    def loss(self, beats: int, overdue: int = 0) -> float:
        """The share of the last `beats` that did not come, with so many overdue ones behind."""
        overdue = min(overdue, beats) if self.highest else 0
        counted = min(self._span + overdue, beats)
        if counted == 0:
            return 0.0
        came = (self.bits << overdue) & ((1 << counted) - 1)
        return 1 - came.bit_count() / counted
