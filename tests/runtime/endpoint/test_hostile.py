"""Hostile input on real sockets (T2, T6, T7); `python -m bench fuzz` and `flood` do it in full.

A victim in a process of its own knows one friend and one traitor; everybody else is a stranger.
"""

import pytest

from bench.flood import flood
from bench.fuzz import GROWTH_MAX, TRANSPORTS, Outcome, fuzz, fuzz_inside

pytestmark = pytest.mark.slow

PACKETS = 2000
SEED = 42424


def is_unharmed(outcome: Outcome) -> bool:
    return (
        not outcome.failures
        and outcome.friend.is_up
        and outcome.growth < GROWTH_MAX
        and outcome.processed >= PACKETS
    )


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_damaged_replayed_and_random_packets_do_no_harm_and_are_never_answered(
    transport: str,
) -> None:
    """T6: nothing is sent to a stranger while discovery is off."""
    outcome = fuzz(transport, PACKETS, SEED)
    assert is_unharmed(outcome), outcome
    assert outcome.answers == 0, outcome
    assert outcome.malformed > 0
    assert outcome.refused > 0


def test_a_linked_peer_that_obeys_no_rule_does_no_harm_to_others() -> None:
    outcome = fuzz_inside(PACKETS, SEED)
    assert is_unharmed(outcome), outcome
    assert outcome.refused > 0


def test_a_flood_of_handshakes_costs_a_bounded_share_of_the_processor() -> None:
    """T2: RSA is dear, so strangers share a budget, and known peers do not feel it."""
    outcome = flood(1.5, rate=1000)
    assert outcome.share < outcome.bare_share + 0.5, outcome
    assert outcome.opened < 1000, outcome
    assert outcome.growth < GROWTH_MAX, outcome
    assert outcome.answers == 0, outcome
    assert not outcome.failures, outcome
    assert outcome.friend.is_up, outcome
