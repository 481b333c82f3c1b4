"""Echoes among forwarders: replies, traces, losses, floods."""

from itertools import count
from random import Random

import pytest

from rookery.errors import CongestionError, DecodeError, ProtocolError, UnreachableError, UsageError
from rookery.mesh.routing.echo import (
    OUTSTANDING_MAX,
    SIZE_MAX,
    TIMEOUT_S,
    Echoed,
    Echoes,
    EchoFailed,
    EchoLost,
)
from rookery.mesh.routing.forwarding import RouteNodes
from rookery.wire.mesh.echo import HELD_MAX_US, REQUEST_SIZE_MIN, EchoReply, EchoRequest
from rookery.wire.mesh.forward import HOP_LIMIT_MAX, ForwardKind, PathError, PathErrorReason
from tests.mesh.forwarding_world import World, node_id

HOP_S = 0.01


def route(*numbers: int) -> RouteNodes:
    return tuple(node_id(number) for number in numbers)


class EchoWorld(World):
    """Every node has echoes, and every hop takes 10 ms."""

    def __init__(self, edges: list[tuple[int, int]]) -> None:
        super().__init__(edges)
        self.echoes = {
            node: Echoes(site.forwarder.send, Random(node).randbytes)
            for node, site in self.sites.items()
        }

    def run(self, held_s: float = 0.0) -> None:
        while self.under_way:
            self.now += HOP_S
            self.step()
            while self.arrivals:
                node, kind, route, payload, *_ = self.arrivals.pop()
                echoes = self.echoes[node]
                if kind is ForwardKind.ECHO_REQUEST:
                    arrived, self.now = self.now, self.now + held_s
                    echoes.requested(route, payload, self.now, arrived)
                elif kind is ForwardKind.ECHO_REPLY:
                    echoes.replied_to(route, payload, self.now)
                else:
                    echoes.gave_up(route, PathError.parse(payload), self.now)

    def at(self, number: int) -> Echoes:
        return self.echoes[node_id(number)]


def line(length: int) -> EchoWorld:
    return EchoWorld([(number, number + 1) for number in range(1, length)])


def echoes_without_a_world() -> Echoes:
    numbers = count()
    return Echoes(lambda *_: True, lambda size: next(numbers).to_bytes(size, "big"))


def test_a_reply_tells_the_round_trip_without_the_time_it_was_held() -> None:
    world = line(3)
    token = world.at(1).ask(route(1, 2, 3), world.now)
    world.run(held_s=0.5)
    [outcome] = world.at(1).take()
    assert isinstance(outcome, Echoed)
    assert (outcome.token, outcome.route, outcome.back) == (token, route(1, 2, 3), route(3, 2, 1))
    assert outcome.rtt_s == pytest.approx(4 * HOP_S)
    assert outcome.held_s == pytest.approx(0.5)
    assert world.at(1).take() == []
    assert world.at(1).deadline is None
    assert world.at(3).replied == 1


def test_a_trace_hears_of_every_relay_and_then_of_the_destination() -> None:
    world = line(5)
    for hop_limit in range(1, 5):
        world.at(1).ask(route(1, 2, 3, 4, 5), world.now, hop_limit=hop_limit)
        world.run()
    *relays, last = world.at(1).take()
    told = [
        (relay.back[0], relay.reason, round(relay.rtt_s, 6))
        for relay in relays
        if isinstance(relay, EchoFailed)
    ]
    assert told == [
        (node_id(number), PathErrorReason.HOP_LIMIT, round(2 * HOP_S * hops, 6))
        for hops, number in enumerate((2, 3, 4), start=1)
    ]
    assert isinstance(last, Echoed)
    assert last.back[0] == node_id(5)


def test_a_relay_without_a_route_ends_an_echo_before_its_time() -> None:
    world = line(4)
    world.cut(3, 4)
    world.at(1).ask(route(1, 2, 3, 4), world.now)
    world.run()
    [outcome] = world.at(1).take()
    assert isinstance(outcome, EchoFailed)
    assert (outcome.back, outcome.reason, outcome.failed) == (
        route(3, 2, 1),
        PathErrorReason.NO_WAY,
        node_id(4),
    )


def test_a_reply_finds_a_detour_as_packets_do() -> None:
    world = EchoWorld([(1, 2), (2, 3), (3, 4), (4, 1)])
    world.at(1).ask(route(1, 2, 3), world.now)
    world.now += HOP_S
    world.step()
    world.step()
    world.cut(1, 2)
    arrival = world.arrivals.pop()
    world.at(3).requested(arrival.route, arrival.payload, world.now)
    world.run()
    assert world.at(1).take() == []  # 2 may not lead back through 3, so this one is lost
    world.at(1).ask(route(1, 4, 3), world.now)
    world.run()
    [outcome] = world.at(1).take()
    assert isinstance(outcome, Echoed)


def test_no_answer_is_ever_larger_than_its_cause() -> None:
    """Even when the request's route is the shortest and the reply's repaired to the longest."""
    world = EchoWorld([(1, 2), *((number, number + 1) for number in range(2, 17)), (17, 1)])
    world.at(1).ask(route(1, 2), world.now)
    world.step()
    arrival = world.arrivals.pop()
    world.cut(1, 2)
    world.at(2).requested(arrival.route, arrival.payload, world.now)
    world.run()
    request, *replies = world.hops
    assert len(replies) == 16
    assert {len(reply.body) for reply in replies} == {len(request.body)}


def test_an_unanswered_echo_is_lost_in_time() -> None:
    echoes = echoes_without_a_world()
    first = echoes.ask(route(1, 2), 1.0)
    second = echoes.ask(route(1, 3), 2.0)
    assert echoes.deadline == 1.0 + TIMEOUT_S
    echoes.tick(1.0 + TIMEOUT_S)
    assert echoes.take() == [EchoLost(first, route(1, 2))]
    assert echoes.deadline == 2.0 + TIMEOUT_S
    echoes.tick(100.0)
    assert echoes.take() == [EchoLost(second, route(1, 3))]
    echoes.replied_to(route(2, 1), EchoReply(first).serialize(), 101.0)
    assert echoes.take() == []
    assert echoes.unexpected == 1


def test_so_many_echoes_may_be_under_way_and_no_more() -> None:
    echoes = echoes_without_a_world()
    for _ in range(OUTSTANDING_MAX):
        echoes.ask(route(1, 2), 0.0)
    with pytest.raises(CongestionError):
        echoes.ask(route(1, 2), 0.0)
    echoes.tick(TIMEOUT_S)
    echoes.ask(route(1, 2), TIMEOUT_S)


def test_outcomes_that_nobody_takes_stay_within_bounds() -> None:
    echoes = echoes_without_a_world()
    for second in range(2000):
        echoes.ask(route(1, 2), 10.0 * second)
        echoes.tick(10.0 * second + TIMEOUT_S)
    assert len(echoes.take()) == 1024


def test_an_echo_is_not_larger_than_any_frame() -> None:
    with pytest.raises(UsageError):
        echoes_without_a_world().ask(route(1, 2), 0.0, size=SIZE_MAX + 1)


def test_an_echo_that_no_neighbour_takes_is_told_at_once() -> None:
    world = line(2)
    world.cut(1, 2)
    with pytest.raises(UnreachableError):
        world.at(1).ask(route(1, 2), world.now)
    assert world.at(1).deadline is None


def test_a_flood_of_requests_causes_no_flood_of_replies() -> None:
    world = line(2)
    request = EchoRequest(bytes(8)).serialize()
    for _ in range(64):
        world.at(2).requested(route(1, 2), request, 0.0)
    for _ in range(100):
        with pytest.raises(ProtocolError, match=r"^too many echo requests$"):
            world.at(2).requested(route(1, 2), request, 0.0)
    assert len(world.hops) == 64
    world.at(2).forget(node_id(1))
    world.at(2).requested(route(1, 2), request, 0.0)
    assert world.at(2).replied == 65


def test_a_reply_that_does_not_leave_is_not_counted() -> None:
    world = line(2)
    world.cut(1, 2)
    world.at(2).requested(route(1, 2), EchoRequest(bytes(8)).serialize(), 0.0)
    assert world.at(2).replied == 0


def test_a_request_held_for_hours_says_the_most_it_can() -> None:
    world = line(2)
    world.at(2).requested(route(1, 2), EchoRequest(bytes(8)).serialize(), 9999.0, arrived=0.0)
    [hop] = world.hops
    assert EchoReply.parse(bytes(hop.frame.payload)).held_us == HELD_MAX_US


def test_hostile_replies_are_refused_and_the_echo_goes_on() -> None:
    echoes = echoes_without_a_world()
    token = echoes.ask(route(1, 2, 3), 0.0)
    with pytest.raises(ProtocolError, match=r"^echo reply from another node$"):
        echoes.replied_to(route(2, 1), EchoReply(token).serialize(), 0.1)
    with pytest.raises(ProtocolError, match=r"^echo held longer than it took$"):
        echoes.replied_to(route(3, 2, 1), EchoReply(token, 200_000).serialize(), 0.1)
    with pytest.raises(DecodeError, match=r"^not an echo reply$"):
        echoes.replied_to(route(3, 2, 1), token, 0.1)
    echoes.gave_up(route(2, 1), PathError(PathErrorReason.NO_WAY, node_id(3), b"another!"), 0.1)
    echoes.replied_to(route(3, 2, 1), EchoReply(token).serialize(), 0.1)
    assert len(echoes.take()) == 1


def test_an_echo_has_the_hop_limit_and_size_it_was_asked_with() -> None:
    world = line(3)
    world.at(1).ask(route(1, 2, 3), 0.0, size=64)  # too small, so as small as can be
    world.at(1).ask(route(1, 2, 3), 0.0, hop_limit=2, size=1200)
    frames = [hop.frame for hop in world.hops]
    assert [frame.hop_limit for frame in frames] == [HOP_LIMIT_MAX, 2]
    assert [len(frame.payload) for frame in frames] == [REQUEST_SIZE_MIN, 1200]
