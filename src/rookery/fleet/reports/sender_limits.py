"""Limits of a sender: reports kept, retries and their backoff, with jitter so that a fleet does
not retry in step; and its counters.
"""

import msgspec

from rookery.identity.cipher_set import RandomBytes


class SenderLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds."""

    kept_max: int = 4320  # reports, a day of them; the oldest is dropped for the newest
    in_flight_max: int = 4
    resend_s: float = 1.0  # doubles with each try
    resend_max_s: float = 30.0
    pace_s: float = 0.25  # between reports that were kept through an outage
    hello_s: float = 1.0  # doubles, too
    hello_max_s: float = 60.0


class SenderCounters(msgspec.Struct, kw_only=True):
    """Since the sender was made."""

    made: int = 0  # reports
    sent: int = 0  # reports, repeats included
    acknowledged: int = 0
    dropped: int = 0  # reports, for want of room
    hellos: int = 0
    restarts: int = 0  # with a newer boot, as the hub had it
    refused: int = 0  # TLVs received that are malformed or not proved


_JITTER = 0.25
_DOUBLINGS_MAX = 16
_CHANCES = 1 << 16


def backoff(first_s: float, max_s: float, tries: int, random: RandomBytes) -> float:
    """The pause after so many tries, plus or minus a quarter."""
    doubled = min(first_s * (1 << min(tries, _DOUBLINGS_MAX)), max_s)
    chance = int.from_bytes(random(2), "big") / _CHANCES
    return doubled * (1 - _JITTER + 2 * _JITTER * chance)
