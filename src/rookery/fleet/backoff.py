"""Backoff: how long to wait before the next try, so that a fleet does not try in step."""

from rookery.identity.cipher_set import RandomBytes

_JITTER = 0.25
_DOUBLINGS_MAX = 16
_CHANCES = 1 << 16


def backoff(first_s: float, max_s: float, tries: int, random: RandomBytes) -> float:
    """After that many tries before this one; give or take a quarter."""
    doubled = min(first_s * (1 << min(tries, _DOUBLINGS_MAX)), max_s)
    chance = int.from_bytes(random(2), "big") / _CHANCES
    return doubled * (1 - _JITTER + 2 * _JITTER * chance)
