"""F9: the least loaded server is chosen, and it is recorded why."""

import random
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.fleet.rendezvous.placement import (
    DEAD_AFTER_S,
    FORECAST_MAX,
    STALE_AFTER_S,
    ServerLoad,
    choose,
)

CHANCE = random.Random(5).randbytes
NOW = 1_000_000.0


def server(
    name: str,
    used: int = 0,
    reserved: int = 0,
    seats_max: int = 100,
    cpu: float = 0.1,
    mem: float = 0.1,
    age_s: float = 1.0,
) -> ServerLoad:
    address = (f"{name}:1", f"ws://{name}", b"key", b"digest")
    return ServerLoad(name, *address, seats_max, used, reserved, cpu, mem, NOW - age_s)


def chosen(*servers: ServerLoad) -> str | None:
    choice = choose(servers, NOW, CHANCE)
    return None if choice is None else choice.server.hashname


def test_the_least_loaded_wins_and_the_choice_says_why() -> None:
    choice = choose([server("a", 5), server("b", 3, 1), server("c", 9)], NOW, CHANCE)
    assert choice is not None
    assert choice.server.hashname == "b"
    assert choice.reason == (
        "the least loaded of 3: 3 of 100 seats taken, 1 promised, cpu 10%, memory 10%"
    )
    assert choice.losers == ("a", "c")


def test_open_reservations_count() -> None:
    assert chosen(server("a", 3, reserved=5), server("b", 6)) == "b"


def test_a_server_that_is_drained_gets_nobody_however_empty_it_is() -> None:
    drained = msgspec.structs.replace(server("empty"), is_draining=True)
    assert chosen(drained, server("full", 99)) == "full"
    assert chosen(drained) is None
    assert chosen(msgspec.structs.replace(drained, is_draining=False)) == "empty"


def test_load_is_a_share_of_the_seats() -> None:
    assert chosen(server("small", 3, seats_max=10), server("large", 20, seats_max=100)) == "large"


@pytest.mark.parametrize(
    "unfit",
    [
        server("x", 100),
        server("x", 60, reserved=40),
        server("x", 100, reserved=5),
        server("x", seats_max=0),
        server("x", age_s=DEAD_AFTER_S + 1),
    ],
    ids=["full", "promised", "more than full", "none at all", "dead"],
)
def test_a_server_without_a_seat_or_a_sign_of_life_is_no_choice(unfit: ServerLoad) -> None:
    assert chosen(unfit) is None
    assert chosen(unfit, server("b", 99)) == "b"


def test_without_servers_there_is_no_choice() -> None:
    assert chosen() is None


def test_the_only_one_is_called_so() -> None:
    choice = choose([server("a", age_s=50)], NOW, CHANCE)
    assert choice is not None
    assert choice.reason.startswith("the only one: ")


def test_a_machine_short_of_cpu_or_memory_is_avoided() -> None:
    assert chosen(server("hot", cpu=0.95), server("b", 40)) == "b"
    assert chosen(server("tight", mem=0.97), server("b", 40)) == "b"
    assert chosen(server("busy", cpu=0.6, mem=0.8), server("b", 40)) == "busy"


def test_chance_decides_between_equals() -> None:
    wins = Counter(chosen(server("a"), server("b"), server("c")) for _ in range(300))
    assert min(wins[name] for name in "abc") > 50


def test_old_reports_do_not_send_everybody_to_one_server() -> None:
    old = [server(f"s{n}", used=n, age_s=STALE_AFTER_S + 5) for n in range(8)]
    wins = Counter(chosen(*old) for _ in range(400))
    assert set(wins) <= {"s0", "s1", "s2", "s3"}
    assert max(wins.values()) < 280
    assert wins["s0"] > wins["s2"] > 0
    assert wins["s3"] == 0  # the worse of any two
    choice = choose(old, NOW, CHANCE)
    assert choice is not None
    assert choice.reason.startswith("the better of two drawn from 4, as reports are old: ")


def test_an_old_report_of_a_loaded_server_changes_nothing() -> None:
    servers = [server("a"), server("b", 1), server("c", 80), server("d", 90, age_s=50)]
    assert {chosen(*servers) for _ in range(30)} == {"a"}


def test_a_forecast_tips_the_scales() -> None:
    servers = [server("a", 10), server("b", 15)]
    choice = choose(servers, NOW, CHANCE, {"a": 0.1}.get)
    assert choice is not None
    assert choice.server.hashname == "b"
    choice = choose(servers, NOW, CHANCE, {"b": -0.1}.get)
    assert choice is not None
    assert choice.reason.endswith("forecast -0.10")


@pytest.mark.parametrize("wild", [1e9, -1e9, float("inf"), float("-inf"), float("nan")])
def test_a_forecast_is_bounded_whatever_it_says(wild: float) -> None:
    margin = int(FORECAST_MAX * 100) + 1
    servers = [server("a", 10), server("b", 10 + margin)]
    for wrong in ("a", "b"):
        choice = choose(servers, NOW, CHANCE, {wrong: wild}.get)
        assert choice is not None
        assert choice.server.hashname == "a"


Loads = st.lists(
    st.builds(
        server,
        st.text("abc", min_size=1, max_size=3),
        st.integers(0, 12),
        st.integers(0, 4),
        st.integers(0, 12),
        st.floats(0, 1),
        st.floats(0, 1),
        st.floats(-10, 100),
    ),
    max_size=6,
    unique_by=lambda each: each.hashname,
)


@given(Loads, st.integers(0, 2**32))
def test_a_forecast_without_opinion_is_as_none_at_all(servers: list[ServerLoad], seed: int) -> None:
    plain = choose(servers, NOW, random.Random(seed).randbytes)
    assert choose(servers, NOW, random.Random(seed).randbytes, lambda name: None) == plain
    assert choose(servers, NOW, random.Random(seed).randbytes, lambda name: 0.0) == plain


@given(Loads)
def test_who_is_chosen_has_a_seat_and_lives(servers: list[ServerLoad]) -> None:
    choice = choose(servers, NOW, CHANCE)
    fit = [each for each in servers if each.seats_free > 0 and NOW - each.reported_at <= 70]
    assert (choice is None) == (not fit)
    if choice is not None:
        assert choice.server in fit
        others = {each.hashname for each in fit} - {choice.server.hashname}
        assert set(choice.losers) == others


def test_reservations_spread_what_reports_do_not_show_yet() -> None:
    """A hundred wishes between two reports fill the servers evenly."""
    servers = {name: server(name) for name in ("a", "b", "c", "d")}
    for _ in range(100):
        choice = choose(list(servers.values()), NOW, CHANCE)
        assert choice is not None
        winner = choice.server
        servers[winner.hashname] = msgspec.structs.replace(winner, reserved=winner.reserved + 1)
    assert [each.reserved for each in servers.values()] == [25, 25, 25, 25]
