"""Lineage: which boot of a sender is the newest, and which of its reports have come.

             older: late           window, bit i: `sequence - i` has come      sequence
    ─────────────────────────────┬────────────────────────────────────────────┬──────▶
                            sequence - 62

Works on the entry in place: this is asked for every report.
"""

from typing import Final

from rookery.fleet.entry import FleetEntry

NEW: Final = 0
REPEAT: Final = 1  # has come before
LATE: Final = 2  # nobody remembers whether it has come
STALE: Final = 3  # of an older boot

WINDOW_SIZE: Final = 63  # databases have signed integers of 64 bits
CLONE_STRIKES: Final = 4
CLONE_S: Final = 600.0

_MASK: Final = (1 << WINDOW_SIZE) - 1


def take(entry: FleetEntry, boot: int, sequence: int) -> int:
    """NEW, and remembered from now on; or why not."""
    if boot != entry.boot:
        if boot < entry.boot:
            return STALE
        begin(entry, boot, sequence)
        return NEW
    ahead = sequence - entry.sequence
    if ahead > 0:
        entry.window = moved(entry.window, ahead)
        entry.sequence = sequence
        return NEW
    if ahead <= -WINDOW_SIZE:
        return LATE
    bit = 1 << -ahead
    if entry.window & bit:
        return REPEAT
    entry.window |= bit
    return NEW


def moved(window: int, ahead: int) -> int:
    """The window once a report has come that is so far ahead of all others."""
    if ahead == 1 and window == _MASK:
        return window  # as it is nearly always: nothing to compute
    return (window << ahead | 1) & _MASK if ahead < WINDOW_SIZE else 1


def begin(entry: FleetEntry, boot: int, sequence: int) -> None:
    """The boot becomes the newest, whatever was before."""
    entry.previous = entry.boot
    entry.boot = boot
    entry.sequence = sequence
    entry.window = 1


def is_clone(entry: FleetEntry, boot: int, now: float) -> bool:
    """Whether a stale boot is one too many of those that spoke up after their successor.

    A device that starts anew leaves its old boot behind. Two devices with one key take turns:
    each finds itself stale, takes a newer boot, and so makes the other stale.
    """
    if boot != entry.previous:
        return False
    entry.previous = 0
    if abs(now - entry.struck_at) > CLONE_S:
        entry.strikes, entry.struck_at = 0, now
    entry.strikes += 1
    if entry.strikes < CLONE_STRIKES:
        return False
    entry.strikes = 0
    return True
