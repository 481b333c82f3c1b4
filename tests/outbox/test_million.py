"""Requests through many session losses in virtual time: none lost, none out of order, none late."""

from tests.outbox.ordeal import Ordeal

MANY, LOSSES = 20_000, 1_000


def test_requests_survive_the_loss_of_many_sessions() -> None:
    """Q5, Q7: 0 lost, 0 reordered, 0 written after a won set_invalid, all references zero."""
    ordeal = Ordeal(MANY, LOSSES)
    ordeal.run()
    ordeal.check(MANY)
