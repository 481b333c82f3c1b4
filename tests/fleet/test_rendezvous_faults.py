"""F6 to F11 when things break: at every moment, one after the other, and in heaps.

Whatever happens, the client hears exactly one of done and failed, in time; every seat is used or
given back; no ticket passes twice or from the wrong hand; and no connection is left open.
"""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fleet.meeting_world import FAULTS, LIMITS, Fault, World

EVENTS = 11  # of a meeting in which nothing goes wrong, until the client is there


def settled(faults: list[tuple[int, Fault]], servers: int = 4) -> World:
    """A world after these faults, in which everything is as it must be."""
    world = World(servers)
    world.run(faults)
    last = [step for step in world.steps if step.is_last]
    assert len(last) == 1
    assert last[0].at <= LIMITS.total_s
    assert world.finished_at == last[0].at
    assert world.hub.deadline is None
    assert world.reservations <= LIMITS.attempts_max
    assert world.reserved == {}
    assert world.router_lines == set()
    assert all(server.lines == set() for server in world.servers)
    assert len(set(world.redeemed)) == len(world.redeemed)
    kept = [server for server in world.servers if server.answers and server.seats.free < 2]
    names = [server.name for server in kept]
    assert sum(server.seats.used for server in kept) == len(kept) <= 1
    if last[0].name == "failed" or not world.is_attended:
        assert names == []
    elif names:
        assert last[0].grant is not None
        assert names == [last[0].grant.server]
    return world


def test_without_faults_router_and_client_meet() -> None:
    world = settled([])
    names = [step.name for step in world.steps]
    assert names == [
        *("wished", "called", "router_here", "reserving", "directed", "arrived", "done"),
    ]
    assert world.is_attended
    assert world.attended_after == EVENTS - 1
    assert world.steps[3].reason.startswith("the least loaded of 4")


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_at_every_moment(fault: Fault) -> None:
    for moment in range(EVENTS + 1):
        settled([(moment, fault)])


@pytest.mark.parametrize(
    "fault",
    [
        *("server dies", "server hangs", "server restarts", "server fills up"),
        *("router line breaks", "router cannot reach the server"),
    ],
)
def test_one_such_fault_is_overcome_at_every_moment(fault: Fault) -> None:
    """There are other servers, and the router is well: before it is done, nothing is lost."""
    for moment in range(EVENTS + 1):
        world = settled([(moment, fault)])
        assert world.steps[-1].name == "done", (moment, [step.reason for step in world.steps])


def test_a_line_between_hub_and_server_may_break_but_for_the_news_of_the_arrival() -> None:
    """Then the router sits where the hub does not know of it, and the client has to try again."""
    failed = 0
    for moment in range(EVENTS + 1):
        world = settled([(moment, "server line breaks")])
        if world.steps[-1].name == "failed":
            failed += 1
            assert world.redeemed
    assert failed <= 2


def test_a_router_that_reboots_is_called_again_and_comes() -> None:
    for moment in range(EVENTS + 1):
        assert settled([(moment, "router reboots")]).steps[-1].name == "done"


def test_a_client_that_goes_leaves_nothing_behind() -> None:
    for moment in range(EVENTS + 1):
        world = settled([(moment, "client goes")])
        if world.steps[-1].name == "done":
            assert world.granted is not None


@pytest.mark.parametrize("servers", [0, 1, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_with_few_servers(servers: int, fault: Fault) -> None:
    for moment in range(EVENTS + 1):
        world = settled([(moment, fault)], servers)
        if servers == 0:
            assert world.steps[-1].name == "failed"


@pytest.mark.parametrize("first", FAULTS)
def test_a_second_fault_after_the_first_at_every_moment(first: Fault) -> None:
    for moment, later, second in product(range(EVENTS), (0, 1, 2, 4, 7), FAULTS):
        settled([(moment, first), (moment + later, second)])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 80), st.sampled_from(FAULTS)), max_size=12),
    st.integers(0, 4),
)
def test_any_heap_of_faults(faults: list[tuple[int, Fault]], servers: int) -> None:
    settled(faults, servers)
