"""P5: the body of a forecast."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.fleet.forecast import SERVERS_MAX, STEPS_MAX, Forecast, ServerForecast

ROOK = bytes.fromhex("03fc00000001")

ratios = st.floats(0, 1)
servers = st.lists(
    st.builds(
        ServerForecast,
        st.binary(min_size=6, max_size=6),
        st.integers(0, 2**53 - 1),
        st.integers(1, 86_400),
        st.lists(ratios, max_size=8).map(tuple),
        ratios,
    ),
    max_size=5,
    unique_by=lambda each: each.server,
)


@given(servers.map(tuple))
def test_what_was_written_is_read_again(expected: tuple[ServerForecast, ...]) -> None:
    assert Forecast.parse(Forecast(expected).body()).servers == expected


@given(st.binary(max_size=300))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    try:
        forecast = Forecast.parse(data)
    except DecodeError:
        return
    assert Forecast.parse(forecast.body()) == forecast


def test_a_share_holds_for_its_step_and_nothing_is_said_beyond() -> None:
    hours = ServerForecast(ROOK, 10_000, 3600, (0.25, 0.5), 1.0)
    first, last = 10_000, 10_000 + 2 * 3_600_000
    found = [hours.share_at(at) for at in (first - 1, first, first + 3_599_999, first + 3_600_000)]
    assert found == [None, 0.25, 0.25, 0.5]
    assert [hours.share_at(at) for at in (last - 1, last)] == [0.5, None]


@pytest.mark.parametrize(
    "wrong",
    [
        [ROOK, 0, 3600, [1.5], 1.0],
        [ROOK, 0, 3600, [float("nan")], 1.0],
        [ROOK, 0, 3600, [0.5], 1.1],
        [ROOK, 0, 0, [0.5], 1.0],
        [ROOK, -1, 3600, [0.5], 1.0],
        [ROOK[:5], 0, 3600, [0.5], 1.0],
        [ROOK, 0, 3600, [0.0] * (STEPS_MAX + 1), 1.0],
        [ROOK, 0, 3600],
    ],
)
def test_what_cannot_be_is_refused(wrong: list[object]) -> None:
    with pytest.raises(DecodeError, match="no forecast"):
        Forecast.parse(msgspec.msgpack.encode([wrong]))


def test_a_server_is_named_once_and_servers_are_so_many_at_most() -> None:
    twice = [[ROOK, 0, 3600, [0.5], 1.0]] * 2
    with pytest.raises(DecodeError, match="twice"):
        Forecast.parse(msgspec.msgpack.encode(twice))
    many = [[at.to_bytes(6, "big"), 0, 3600, [], 1.0] for at in range(SERVERS_MAX + 1)]
    assert len(Forecast.parse(msgspec.msgpack.encode(many[1:])).servers) == SERVERS_MAX
    with pytest.raises(DecodeError):
        Forecast.parse(msgspec.msgpack.encode(many))


def test_what_later_versions_add_is_passed_over() -> None:
    [server] = Forecast.parse(msgspec.msgpack.encode([[ROOK, 0, 60, [0.5], 1, "new"]])).servers
    assert server == ServerForecast(ROOK, 0, 60, (0.5,), 1.0)
