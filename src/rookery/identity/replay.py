"""Replay window: which packet counters of a session were already accepted.

            older: refused      window: one bit each, 1 = not yet seen      newest
    ──────────────────────────┬────────────────────────────────────────────┬──────▶
                          newest - 16383                                  newest

Keeping the *missing* counters makes the usual case, everything in order, a comparison and an
addition on small integers.
"""

# A link may use two connections at once, and one of them may lag by a full queue of packets.
WINDOW_SIZE = 1 << 14

_MASK = (1 << WINDOW_SIZE) - 1


class ReplayWindow:
    """Ask `is_fresh` before opening a packet; `accept` its counter once it proved authentic."""

    __slots__ = ("_missing", "_next")

    def __init__(self, first: int = 0) -> None:
        self._next = first  # one more than the newest counter
        self._missing = 0  # bit i: the counter `_next - 1 - i` may still come

    def is_fresh(self, counter: int) -> bool:
        age = self._next - 1 - counter
        return age < 0 or self._missing >> age & 1 == 1

    def accept(self, counter: int) -> None:
        skipped = counter - self._next
        if skipped == 0 and not self._missing:
            self._next = counter + 1
        elif skipped < 0:
            self._missing &= ~(1 << (-1 - skipped))
        else:
            # A jump beyond the window forgets all that was missing before it.
            skipped = min(skipped, WINDOW_SIZE - 1)
            gap = (1 << skipped) - 1
            self._missing = ((self._missing << skipped | gap) << 1) & _MASK
            self._next = counter + 1
