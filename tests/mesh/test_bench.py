"""Bench: requests within their limits, answers that make sense, figures that add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.mesh.bench import (
    BYTES_MAX,
    SECONDS_MAX,
    BenchAction,
    BenchAnswer,
    BenchPathFigures,
    BenchPathsAnswer,
    BenchReceived,
    BenchRequest,
    figures_since,
    parse_paths,
    parse_received,
    quantile,
    serialize_answer,
)
from rookery.wire.link.lob import JsonObject

EAST = BenchPathFigures("over east", 100, 1, 2.5, 1e6)


@pytest.mark.parametrize("do", BenchAction)
def test_a_request_reads_back_as_it_was_written(do: BenchAction) -> None:
    request = BenchRequest(do, 2.5, 1000)
    assert BenchRequest.parse({**request.meta(), "colour": "blue"}) == request
    assert BenchRequest.parse({"do": do.value}).bytes == BYTES_MAX


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"do": "explode"},
        {"do": "sink", "seconds": 0},
        {"do": "sink", "seconds": SECONDS_MAX + 1},
        {"do": "sink", "bytes": 0},
        {"do": "sink", "bytes": BYTES_MAX + 1},
        {"do": "sink", "seconds": "1"},
    ],
)
def test_what_is_beyond_the_limits_is_refused(meta: JsonObject) -> None:
    with pytest.raises(DecodeError):
        BenchRequest.parse(meta)


@pytest.mark.parametrize("answer", BenchAnswer)
def test_the_first_byte_of_an_answer_reads_back(answer: BenchAnswer) -> None:
    assert BenchAnswer.parse(answer.byte) is answer


def test_other_first_bytes_are_none() -> None:
    with pytest.raises(DecodeError):
        BenchAnswer.parse(b"\xff")


def test_answers_read_back_as_they_were_written() -> None:
    assert parse_received(serialize_answer(BenchReceived(7))) == BenchReceived(7)
    assert parse_paths(serialize_answer(BenchPathsAnswer((EAST,)))) == (EAST,)


@given(st.binary(max_size=60))
def test_arbitrary_answers_are_read_or_refused(data: bytes) -> None:
    for parse in (parse_received, parse_paths):
        with pytest.raises(DecodeError):
            parse(b"x" + data)


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=50), st.floats(0.01, 1))
def test_a_quantile_is_not_exceeded_by_that_share(values: list[float], share: float) -> None:
    found = quantile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values) + 1e-9


def test_of_nothing_there_is_no_quantile() -> None:
    assert quantile([], 0.5) is None
    assert quantile([3, 1, 2], 0.5) == 2


def test_only_what_was_sent_meanwhile_counts() -> None:
    later = BenchPathFigures("over east", 150, 3, 2.0, 2e6)
    west = BenchPathFigures("over west", 30, 0, 9.0, 1e6)
    assert figures_since([EAST], [later, west]) == (
        BenchPathFigures("over east", 50, 2, 2.0, 2e6),
        west,
    )


def test_a_path_that_came_back_counts_anew() -> None:
    again = BenchPathFigures("over east", 40, 0, 2.0, 2e6)
    assert figures_since([EAST], [again]) == (again,)
