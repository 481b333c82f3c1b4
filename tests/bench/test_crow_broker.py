"""The bench of the broker runs, and says what it could be measured against."""

import pytest

from bench import crow_broker, mosquitto
from bench.figure import QUICK


@pytest.mark.slow
def test_a_broker_is_measured_beside_mosquitto_or_says_what_is_missing() -> None:
    figure = crow_broker.figure(1, QUICK)
    assert figure.value > 0
    assert figure.remark.startswith("100.0%")
    if (lack := mosquitto.lack()) is None:
        assert figure.limit is not None
    else:
        assert figure.limit is None
        assert lack in figure.remark
