"""F6 to F11 when things break: at every moment, one after the other, and in heaps.

Whatever happens, the client hears exactly one of done and failed, in time; every seat is used or
given back; no ticket passes twice or from the wrong hand; and no connection is left open.
"""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fleet.rendezvous.rendezvous_world import FAULTS, LIMITS, Fault, World
from tests.fleet.rendezvous.seat_server import LATENCY_S, SEATS_MAX

EVENTS = 12  # of a rendezvous in which nothing goes wrong, until the client is there
Faults = Sequence[tuple[int, Fault]]


def settled(faults: Faults, servers: int = 4) -> World:
    """A world after these faults, in which everything is as it must be."""
    world = World(servers)
    world.run(faults)
    check(world)
    return world


def check(world: World) -> None:
    last = [step for step in world.steps if step.is_last]
    assert len(last) == 1
    assert last[0].at <= LIMITS.total_s
    for hub in world.known_hubs:
        if hub.is_alive:
            assert hub.reserved == {}
            assert hub.lines == set()
            assert hub.core.deadline is None or not hub.is_finished
            assert hub.reservations <= LIMITS.attempts_max
    assert world.home.finished_at == pytest.approx(last[0].at, abs=2 * LATENCY_S)
    assert world.home.core.deadline is None
    assert all(server.lines == {} for server in world.servers)
    redeemed = [ticket for server in world.servers for ticket in server.redeemed]
    assert len(set(redeemed)) == len(redeemed)
    kept = [server for server in world.servers if server.answers and server.seats.free < SEATS_MAX]
    assert sum(server.seats.used for server in kept) == len(kept) <= 1
    if last[0].name == "failed" or not world.is_attended:
        assert kept == []
    elif kept:
        assert last[0].grant is not None
        assert kept[0].name == last[0].grant.server


def test_without_faults_device_and_client_meet() -> None:
    world = settled([])
    names = [step.name for step in world.steps]
    assert names == [
        *("wished", "called", "router_here", "reserving", "directed", "arrived", "done"),
    ]
    assert world.is_attended
    assert world.attended_after == EVENTS
    assert world.steps[3].reason.startswith("the least loaded of 4")


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_at_every_moment(fault: Fault) -> None:
    for moment in range(EVENTS + 1):
        settled([(moment, fault)])


@pytest.mark.parametrize(
    "fault",
    [
        *("server dies", "server hangs", "server restarts", "server fills up", "router reboots"),
        *("router line breaks", "router cannot reach the server"),
    ],
)
def test_one_such_fault_is_overcome_at_every_moment(fault: Fault) -> None:
    """There are other servers, and the device is well or soon will be."""
    for moment in range(EVENTS + 1):
        world = settled([(moment, fault)])
        assert world.steps[-1].name == "done", (moment, [step.reason for step in world.steps])


def test_a_line_between_hub_and_server_may_break_but_for_the_news_of_the_arrival() -> None:
    """Then the device sits where the hub does not know of it, and the client has to try again."""
    failed = 0
    for moment in range(EVENTS + 1):
        world = settled([(moment, "server line breaks")])
        if world.steps[-1].name == "failed":
            failed += 1
            assert any(server.redeemed for server in world.servers)
    assert failed <= 2


@pytest.mark.parametrize("servers", [0, 1, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_with_few_servers(servers: int, fault: Fault) -> None:
    for moment in range(EVENTS + 1):
        world = settled([(moment, fault)], servers)
        if servers == 0:
            assert world.steps[-1].name == "failed"


@pytest.mark.parametrize("first", FAULTS)
def test_a_second_fault_after_the_first_at_every_moment(first: Fault) -> None:
    for moment, later, second in product(range(EVENTS), (0, 1, 3, 6), FAULTS):
        settled([(moment, first), (moment + later, second)])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 80), st.sampled_from(FAULTS)), max_size=12),
    st.integers(0, 4),
)
def test_any_heap_of_faults(faults: Faults, servers: int) -> None:
    settled(faults, servers)


# Several hubs


@pytest.mark.parametrize("hubs", [2, 3])
def test_several_hubs_behave_as_one(hubs: int) -> None:
    for seed in range(30):
        world = World(hubs=hubs, seed=seed)
        world.run()
        check(world)
        assert world.is_attended


def test_a_hub_that_dies_with_the_device_at_any_moment_is_replaced() -> None:
    """The lease runs out, and the hub that the device comes to next goes on."""
    died = 0
    for seed, moment in product(range(12), range(3, 16)):
        world = World(hubs=2, seed=seed)
        world.run(hub_deaths=[moment])
        check(world)
        died += not all(hub.is_alive for hub in world.known_hubs)
        assert world.steps[-1].name == "done"
    assert died > 20


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 80), st.sampled_from(FAULTS)), max_size=8),
    st.lists(st.integers(0, 80), max_size=2),
    st.integers(2, 3),
    st.integers(0, 1 << 16),
)
def test_any_heap_of_faults_with_several_hubs(
    faults: Faults, hub_deaths: list[int], hubs: int, seed: int
) -> None:
    world = World(hubs=hubs, seed=seed)
    world.run(faults, hub_deaths)
    check(world)
