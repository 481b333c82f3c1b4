"""The bench of the broker runs, and says what it could be measured against."""

import pytest

from bench import crow_broker, mosquitto
from bench.figure import QUICK, Missing


@pytest.mark.slow
def test_a_broker_is_measured_beside_mosquitto() -> None:
    if (lack := mosquitto.lack()) is not None:
        pytest.skip(lack)
    figure = crow_broker.figure(1, QUICK)
    assert figure.value > 0
    assert figure.remark.startswith("100.0%")
    assert figure.limit is not None


def test_without_mosquitto_the_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mosquitto, "lack", lambda: "mosquitto is not installed")
    rows = crow_broker.measure(QUICK)
    assert [type(row) for row in rows] == [Missing] * 3
    assert {row.why for row in rows if isinstance(row, Missing)} == {"mosquitto is not installed"}
