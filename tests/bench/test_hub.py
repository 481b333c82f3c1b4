"""The benches of the hub run: one quick turn each."""

import pytest

from bench import hub_fleet, hub_reports, web
from bench.figure import QUICK


@pytest.mark.slow
def test_reports_are_measured_beside_a_bare_receive_loop() -> None:
    (figure,) = hub_reports.measure(QUICK)
    assert figure.value > 0
    assert figure.ratio is not None


@pytest.mark.slow
def test_a_fleet_is_measured_and_none_of_it_is_silent() -> None:
    share, memory = hub_fleet.measure(QUICK)
    assert share.value > 0
    assert "0 of 1000 silent" in share.remark
    assert memory.unit == "bytes"


@pytest.mark.slow
def test_the_pages_api_is_measured_beside_the_least_answer() -> None:
    figures = web.measure(QUICK)
    assert len(figures) == len(web.ROUTES)
    assert all(figure.ratio is not None for figure in figures)
