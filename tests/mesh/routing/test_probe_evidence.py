"""When lost probes speak against a route, and when they are chance."""

from random import Random

import pytest

from rookery.mesh.routing.route_prober import ProbeEvidence
from rookery.wire.mesh.ping import DATA_SIZE, SMALL_SIZE


def evidence(fates: str, size: int = SMALL_SIZE) -> ProbeEvidence:
    """`x` for a probe that is lost."""
    found = ProbeEvidence()
    for fate in fates:
        found.add(size, is_lost=fate == "x")
    return found


def test_three_in_a_row_are_no_chance_where_links_lose_nothing() -> None:
    assert evidence("....xx").failure(0.0) is None
    failure = evidence("....xxx").failure(0.0)
    assert failure == "3 of the last 3 probes over it were not answered"


def test_a_share_is_found_out_in_time() -> None:
    assert evidence("...x.....x...").failure(0.0) is None
    assert evidence("..x...x..x....x.x..x..x.").failure(0.0) is not None


@pytest.mark.parametrize("loss", [0.3, 0.5])
def test_what_the_links_lose_is_expected(loss: float) -> None:
    assert evidence("xxx").failure(loss) is None
    assert evidence("x." * 16).failure(loss) is None
    assert evidence("x" * 7).failure(loss) is None
    assert evidence("x" * 8).failure(loss) is not None, "but not that nothing comes"


def test_large_ones_alone_are_enough() -> None:
    found = ProbeEvidence()
    for _ in range(3):
        found.add(SMALL_SIZE, is_lost=False)
        found.add(DATA_SIZE, is_lost=True)
    assert found.failure(0.0) == "3 of the last 3 large probes over it were not answered"


@pytest.mark.parametrize("loss", [0.0, 0.05, 0.2])
def test_honest_loss_is_hardly_ever_blamed(loss: float) -> None:
    """Forty minutes of probes."""
    random, blamed, found = Random(1), 0, ProbeEvidence()
    for number in range(2400):
        size = (SMALL_SIZE, DATA_SIZE)[number % 2]
        is_lost = random.random() < loss
        found.add(size, is_lost=is_lost)
        blamed += is_lost and found.failure(loss) is not None
    assert blamed <= 4
