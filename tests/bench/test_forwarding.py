"""The bench of forwarding runs: three members in three processes, on real sockets."""

import pytest

from bench import forwarding
from bench.figure import QUICK


def test_a_step_of_the_core_is_measured_beside_its_goal() -> None:
    assert forwarding.core(QUICK).value > 0


@pytest.mark.slow
@pytest.mark.parametrize("load", forwarding.LOADS[:2], ids=lambda load: load.carrier)
def test_a_relay_is_measured_against_one_that_only_copies(load: forwarding.Load) -> None:
    figure = forwarding.figure(load, QUICK)
    assert figure.value > 0
    assert figure.ratio is not None
