"""The bench of forwarding runs: three members in three processes, on real sockets."""

import pytest

from bench import forwarding
from bench.figure import QUICK


def test_a_step_of_the_core_is_measured_beside_its_goal() -> None:
    assert forwarding.core(QUICK).value > 0


@pytest.mark.slow
@pytest.mark.parametrize("way", forwarding.WAYS[:2], ids=lambda way: way.carrier)
def test_a_relay_is_measured_beside_one_that_only_copies(way: forwarding.Way) -> None:
    figure = forwarding.figure(way, QUICK)
    assert figure.value > 0
    assert figure.ratio is not None
