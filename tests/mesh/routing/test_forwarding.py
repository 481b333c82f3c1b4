"""One node's step of a packet under way: relayed, repaired, refused, given up."""

import pytest

from rookery.errors import DecodeError, ProtocolError, UsageError
from rookery.mesh.routing.forwarding import STEPS_MAX, RouteNodes
from rookery.wire.mesh.forward import (
    HOP_LIMIT_MAX,
    REPAIRS_MAX,
    ROUTE_MAX,
    DatagramClass,
    Forward,
    ForwardKind,
    PathError,
    PathErrorReason,
)
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.forwarding_world import Delivered, World, node_id

PAYLOAD = b"payload of a packet"


def route(*numbers: int) -> RouteNodes:
    return tuple(node_id(number) for number in numbers)


def line(count: int) -> World:
    """Nodes 1 to `count`, each linked with the next."""
    return World([(number, number + 1) for number in range(1, count)])


def give(world: World, frame: Forward, receiver: int, neighbour: NodeId | None = None) -> None:
    sender = frame.route[frame.cursor - 1] if neighbour is None else neighbour
    world.forwarder(receiver).received(sender, frame.head(), frame.body(), world.now)


def test_a_packet_takes_its_route_and_keeps_its_body() -> None:
    world = line(4)
    assert world.forwarder(1).send(
        route(1, 2, 3, 4), PAYLOAD, ForwardKind.PACKET, DatagramClass.DROP
    )
    world.settle()
    [arrival] = world.arrivals
    assert arrival == Delivered(node_id(4), ForwardKind.PACKET, route(1, 2, 3, 4), PAYLOAD)
    assert len({hop.body for hop in world.hops}) == 1
    assert [hop.frame.hop_limit for hop in world.hops] == [16, 15, 14]
    assert [hop.frame.cursor for hop in world.hops] == [1, 2, 3]
    assert world.forwarder(2).fates == {"relayed": 1}
    assert world.forwarder(2).relayed_bytes == 4 * 8 + len(PAYLOAD)
    assert world.forwarder(4).fates == {"relayed": 0, "delivered": 1}


def test_the_longest_route_there_is_gets_there() -> None:
    world = line(ROUTE_MAX)
    world.forwarder(1).send(route(*range(1, ROUTE_MAX + 1)), PAYLOAD)
    world.settle()
    assert [arrival.node for arrival in world.arrivals] == [node_id(ROUTE_MAX)]


def test_every_kind_class_and_mark_survives_a_relay() -> None:
    for kind in ForwardKind:
        for datagram_class in DatagramClass:
            world = line(3)
            frame = Forward(route(1, 2, 3), PAYLOAD, kind, datagram_class, is_marked=True)
            give(world, frame, receiver=2)
            [hop] = world.hops
            assert hop.frame == Forward(
                route(1, 2, 3), PAYLOAD, kind, datagram_class, 15, cursor=2, is_marked=True
            )


@pytest.mark.parametrize("busy", [1, 2, 3])
def test_who_has_a_long_queue_to_the_next_node_marks_what_joins_it(busy: int) -> None:
    """M5: whoever it is, the origin included; and nothing else about the packet changes."""
    world = line(4)
    site = world.sites[node_id(busy)]
    for turn in range(2):  # the second time the steps are known by heart
        site.busy = {node_id(busy + 1)}
        world.forwarder(1).send(route(1, 2, 3, 4), PAYLOAD)
        site.busy = set() if turn else site.busy
        world.settle()
    assert [arrival.is_marked for arrival in world.arrivals] == [True, busy == 1]
    assert [arrival.payload for arrival in world.arrivals] == [PAYLOAD] * 2
    assert site.forwarder.fates["marked"] == 1 + (busy == 1)
    site.busy = {node_id(busy - 1)}
    world.forwarder(1).send(route(1, 2, 3, 4), PAYLOAD)
    world.settle()
    assert not world.arrivals[-1].is_marked


def test_a_step_is_worked_out_for_each_neighbour_anew() -> None:
    """What one neighbour may say, another may not, even right after it."""
    world = line(3)
    frame = Forward(route(1, 2, 3), PAYLOAD)
    give(world, frame, receiver=2)
    with pytest.raises(ProtocolError, match=r"^not from the previous node$"):
        give(world, frame, receiver=2, neighbour=node_id(3))


@pytest.mark.parametrize("receiver", [1, 3])
def test_a_frame_for_another_node_is_refused(receiver: int) -> None:
    world = line(3)
    with pytest.raises(ProtocolError, match=r"^not for this node$"):
        give(world, Forward(route(1, 2, 3), PAYLOAD), receiver)


@pytest.mark.parametrize("size", [0, 1, 5, 7])
def test_a_head_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(DecodeError, match=r"^not a forward head$"):
        line(2).forwarder(1).received(node_id(2), bytes(size), b"", 0.0)


def test_many_routes_are_remembered_within_bounds() -> None:
    """Memory that a member could fill is cleared, and every packet still goes its way."""
    world = World([(1, 2), (2, 3)])
    for number in range(10, 10 + 2 * STEPS_MAX):
        give(world, Forward(route(1, 2, 3, number), PAYLOAD), receiver=2)
        assert world.forwarder(2).remembered <= STEPS_MAX
    assert world.forwarder(2).relayed == 2 * STEPS_MAX


def test_a_frame_that_the_link_drops_is_counted() -> None:
    world = line(3)
    world.sites[node_id(2)].takes = False
    give(world, Forward(route(1, 2, 3), PAYLOAD), receiver=2)
    assert world.forwarder(2).fates == {"relayed": 0, "not taken": 1}
    world.sites[node_id(1)].takes = False
    assert not world.forwarder(1).send(route(1, 2, 3), PAYLOAD)


@pytest.mark.parametrize("hop_limit", [0, HOP_LIMIT_MAX + 1])
def test_an_own_packet_needs_a_hop_limit_in_bounds(hop_limit: int) -> None:
    with pytest.raises(UsageError, match="hop limit"):
        line(2).forwarder(1).send(route(1, 2), PAYLOAD, hop_limit=hop_limit)


def test_each_relay_ends_a_packet_at_its_hop_limit_and_says_so() -> None:
    """R2; a trace is made of these."""
    world = line(5)
    for hop_limit in (1, 2, 3):
        world.forwarder(1).send(route(1, 2, 3, 4, 5), PAYLOAD, hop_limit=hop_limit)
    world.settle()
    assert not world.arrived(ForwardKind.PACKET)
    errors = world.arrived(ForwardKind.PATH_ERROR)
    assert [error.route for error in errors] == [route(2, 1), route(3, 2, 1), route(4, 3, 2, 1)]
    assert [PathError.parse(error.payload) for error in errors] == [
        PathError(PathErrorReason.HOP_LIMIT, node_id(failed), PAYLOAD[:8]) for failed in (3, 4, 5)
    ]


def test_a_hop_limit_that_is_just_enough_is_enough() -> None:
    """R2"""
    world = line(5)
    world.forwarder(1).send(route(1, 2, 3, 4, 5), PAYLOAD, hop_limit=4)
    world.settle()
    assert len(world.arrived(ForwardKind.PACKET)) == 1


def test_a_node_that_does_not_relay_says_so_but_takes_what_is_its_own() -> None:
    world = line(3)
    world.sites[node_id(2)].relays = False
    world.forwarder(1).send(route(1, 2, 3), PAYLOAD)
    world.forwarder(1).send(route(1, 2), PAYLOAD)
    world.settle()
    [own] = world.arrived(ForwardKind.PACKET)
    assert own.node == node_id(2)
    [error] = world.arrived(ForwardKind.PATH_ERROR)
    assert PathError.parse(error.payload).reason is PathErrorReason.REFUSED


def test_a_repair_goes_around_the_next_node_not_only_around_the_link() -> None:
    """2 ─ 3 is cut: 3 itself may be dead, so 2 ─ 4 ─ 3 ─ 5 will not do, 2 ─ 6 ─ 7 ─ 5 will."""
    world = World([(1, 2), (2, 3), (3, 5), (2, 4), (4, 3), (2, 6), (6, 7), (7, 5)])
    world.cut(2, 3)
    world.forwarder(1).send(route(1, 2, 3, 5), PAYLOAD)
    world.settle()
    [arrival] = world.arrivals
    assert arrival.route == route(1, 2, 6, 7, 5)
    assert world.hops[-1].frame.repairs == 1
    assert world.forwarder(2).fates == {"relayed": 1, "repaired": 1}


def test_a_repair_never_leads_back_over_a_node_already_passed() -> None:
    """R2: the only other route from 3 to 5 leads back through 1, so the packet ends there."""
    world = World([(1, 2), (2, 3), (3, 4), (4, 5), (3, 1), (1, 5)])
    world.cut(3, 4)
    world.forwarder(1).send(route(1, 2, 3, 4, 5), PAYLOAD)
    world.settle()
    [error] = world.arrivals
    assert error.kind is ForwardKind.PATH_ERROR


def test_a_destination_whose_link_is_cut_is_reached_over_another_route() -> None:
    world = World([(1, 2), (2, 3), (2, 4), (4, 3)])
    world.cut(2, 3)
    world.forwarder(1).send(route(1, 2, 3), PAYLOAD)
    world.settle()
    assert [arrival.route for arrival in world.arrivals] == [route(1, 2, 4, 3)]


def test_the_origin_repairs_as_a_relay_does() -> None:
    world = World([(1, 2), (2, 3), (1, 4), (4, 3)])
    world.cut(1, 2)
    assert world.forwarder(1).send(route(1, 2, 3), PAYLOAD)
    world.settle()
    assert [arrival.route for arrival in world.arrivals] == [route(1, 4, 3)]
    world.cut(1, 4)
    assert not world.forwarder(1).send(route(1, 2, 3), PAYLOAD)


def test_a_relay_goes_around_a_link_in_doubt_where_it_can() -> None:
    """R8: two pings are missing, which may be all that is ever heard of a cut."""
    world = World([(1, 2), (2, 3), (2, 4), (4, 3)])
    world.sites[node_id(2)].doubted.add(node_id(3))
    world.forwarder(1).send(route(1, 2, 3), PAYLOAD)
    world.settle()
    assert [arrival.route for arrival in world.arrivals] == [route(1, 2, 4, 3)]
    assert world.forwarder(2).fates == {"relayed": 1, "repaired": 1}


def test_a_link_in_doubt_is_better_than_none() -> None:
    world = line(3)
    world.sites[node_id(2)].doubted.add(node_id(3))
    world.forwarder(1).send(route(1, 2, 3), PAYLOAD)
    world.settle()
    assert [arrival.route for arrival in world.arrivals] == [route(1, 2, 3)]
    assert world.forwarder(2).fates == {"relayed": 1}


def test_a_detour_over_a_neighbour_that_is_down_counts_as_none() -> None:
    world = line(3)
    world.cut(2, 3)
    world.sites[node_id(2)].strange_detour = route(2, 9, 3)
    give(world, Forward(route(1, 2, 3), PAYLOAD), receiver=2)
    assert world.forwarder(2).fates["no detour"] == 1
    assert not world.forwarder(2).send(route(2, 3), PAYLOAD)


def test_a_third_repair_is_not_made() -> None:
    world = World([(1, 2), (2, 3), (2, 4), (4, 3)])
    world.cut(2, 3)
    give(world, Forward(route(1, 2, 3), PAYLOAD, repairs=REPAIRS_MAX), receiver=2)
    world.settle()
    assert world.forwarder(2).fates["repairs used up"] == 1
    [error] = world.arrivals
    assert PathError.parse(error.payload).reason is PathErrorReason.NO_WAY


@pytest.mark.parametrize(("last", "arrives"), [(ROUTE_MAX, True), (ROUTE_MAX + 1, False)])
def test_a_detour_may_make_a_route_as_long_as_any_but_not_longer(last: int, arrives: bool) -> None:
    world = World([*((number, number + 1) for number in range(1, last)), (2, last)])
    world.cut(2, last)
    world.forwarder(1).send(route(1, 2, last), PAYLOAD)
    world.settle()
    assert bool(world.arrived(ForwardKind.PACKET)) == arrives
    assert ("detour too long" in world.forwarder(2).fates) == (not arrives)


def test_without_a_detour_the_origin_hears_which_node_could_not_be_reached() -> None:
    world = line(5)
    world.cut(3, 4)
    world.forwarder(1).send(route(1, 2, 3, 4, 5), PAYLOAD)
    world.settle()
    [error] = world.arrivals
    assert (error.node, error.kind, error.route) == (
        node_id(1),
        ForwardKind.PATH_ERROR,
        route(3, 2, 1),
    )
    assert PathError.parse(error.payload) == PathError(
        PathErrorReason.NO_WAY, node_id(4), PAYLOAD[:8]
    )
    assert world.forwarder(3).fates == {
        "relayed": 0,
        "no detour": 1,
        "gave up: no way": 1,
        "error sent": 1,
    }


@pytest.mark.parametrize("kind", [ForwardKind.PATH_ERROR, ForwardKind.ECHO_REPLY])
@pytest.mark.parametrize("hop_limit", [1, 9])
def test_there_is_never_an_error_about_an_answer(kind: ForwardKind, hop_limit: int) -> None:
    world = line(3)
    world.cut(2, 3)
    give(world, Forward(route(1, 2, 3), PAYLOAD, kind, hop_limit=hop_limit), receiver=2)
    assert not world.hops


def test_a_path_error_is_not_repaired_as_it_would_grow() -> None:
    world = World([(1, 2), (2, 3), (2, 4), (4, 3)])
    world.cut(2, 3)
    give(world, Forward(route(1, 2, 3), PAYLOAD, ForwardKind.PATH_ERROR), receiver=2)
    assert not world.hops


@pytest.mark.parametrize("size", range(12))
def test_a_path_error_is_never_larger_than_what_caused_it(size: int) -> None:
    world = line(3)
    world.cut(2, 3)
    frame = Forward(route(1, 2, 3), bytes(size))
    give(world, frame, receiver=2)
    assert len(world.hops) == (size > 8)  # one that would be is not sent
    assert all(len(hop.body) <= len(frame.body()) for hop in world.hops)


def test_no_path_error_goes_to_a_neighbour_that_is_gone() -> None:
    world = line(3)
    world.cut(1, 2)
    world.cut(2, 3)
    give(world, Forward(route(1, 2, 3), PAYLOAD), receiver=2)
    assert not world.hops
    assert world.forwarder(2).fates["error held back"] == 1


def test_path_errors_are_rationed_by_neighbour() -> None:
    world = line(3)
    world.cut(2, 3)
    frame = Forward(route(1, 2, 3), PAYLOAD)
    for _ in range(1000):
        give(world, frame, receiver=2)
    assert len(world.hops) == 32
    world.now = 1.0
    for _ in range(1000):
        give(world, frame, receiver=2)
    assert len(world.hops) == 48
    world.forwarder(2).forget(node_id(1))
    give(world, frame, receiver=2)
    assert len(world.hops) == 49


def test_a_path_error_that_the_link_drops_is_not_counted_as_sent() -> None:
    world = line(3)
    world.cut(2, 3)
    world.sites[node_id(2)].takes = False
    give(world, Forward(route(1, 2, 3), PAYLOAD), receiver=2)
    assert world.forwarder(2).fates["not taken"] == 1
    assert "error sent" not in world.forwarder(2).fates


def test_a_repaired_packet_that_the_link_drops_is_not_counted_as_relayed() -> None:
    world = World([(1, 2), (2, 3), (2, 4), (4, 3)])
    world.cut(2, 3)
    world.sites[node_id(2)].takes = False
    give(world, Forward(route(1, 2, 3), PAYLOAD), receiver=2)
    assert world.forwarder(2).relayed == 0
