"""The bench of the outbox runs: two processes, a thread, and a million in small."""

import pytest

from bench import outbox
from bench.figure import QUICK


@pytest.mark.slow
def test_a_session_is_measured_beside_a_plain_queue_and_a_socket() -> None:
    figure = outbox.throughput(QUICK, is_durable=False)
    assert figure.value > 0
    assert figure.ratio is not None


def test_adding_and_the_ordeal_are_measured() -> None:
    assert outbox.adding(QUICK).ratio is not None
    assert outbox.ordeal(2000).value > 0
