"""Replay window of a sender: its newest boot, and which reports of that boot have come.

             older: late           window, bit i: `sequence - i` has come      sequence
    ─────────────────────────────┬────────────────────────────────────────────┬──────▶
                            sequence - 62

Works on the entry in place, as it is called for every report.
"""

from typing import Final

from rookery.fleet.entry import FleetEntry

NEW: Final = 0
REPEAT: Final = 1  # has come before
LATE: Final = 2  # before the window: it may have come or not
STALE: Final = 3  # of an older boot

WINDOW_SIZE: Final = 63  # databases have signed integers of 64 bits
CLONE_STRIKES: Final = 4
CLONE_S: Final = 600.0

_MASK: Final = (1 << WINDOW_SIZE) - 1


def take(entry: FleetEntry, boot: int, sequence: int) -> int:
    """Mark a report as received and return NEW, or say why it is not new."""
    if boot != entry.boot:
        if boot < entry.boot:
            return STALE
        begin(entry, boot, sequence)
        return NEW
    ahead = sequence - entry.sequence
    if ahead > 0:
        entry.window = shifted(entry.window, ahead)
        entry.sequence = sequence
        return NEW
    if ahead <= -WINDOW_SIZE:
        return LATE
    bit = 1 << -ahead
    if entry.window & bit:
        return REPEAT
    entry.window |= bit
    return NEW


def shifted(window: int, ahead: int) -> int:
    """The window after a report that is `ahead` of the highest sequence."""
    if ahead == 1 and window == _MASK:
        return window  # the common case
    return (window << ahead | 1) & _MASK if ahead < WINDOW_SIZE else 1


def begin(entry: FleetEntry, boot: int, sequence: int) -> None:
    """Make `boot` the newest."""
    entry.previous = entry.boot
    entry.boot = boot
    entry.sequence = sequence
    entry.window = 1


def is_clone(entry: FleetEntry, boot: int, now: float) -> bool:
    """True if reports of a superseded boot came so often that there must be two devices.

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
