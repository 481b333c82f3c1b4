"""Queries and replies."""

import pytest

from rookery.crow.events import QueryAnswered, QueryUnanswered
from rookery.crow.nodes.message_box import ANSWER_WITHIN_S, QUERIES_MAX, MessageBox
from rookery.errors import CongestionError, UsageError
from rookery.sim.crow_world import CrowWorld
from rookery.sim.network.network import Conditions
from rookery.wire.crow.node import NodePacket
from tests.crow.cpp_peer import CppPeer

SERVICE = 50


class TwoBoxes:
    """Alice asks, Bob's box at node 50 is asked."""

    def __init__(self, conditions: Conditions | None = None) -> None:
        self.world = CrowWorld(2, conditions)
        self.alice = self.world.station("10.0.0.1")
        self.bob = self.world.station("10.0.0.2")
        self.asking = MessageBox(self.alice.nodes)
        self.asked = MessageBox(self.bob.nodes, SERVICE)

    def ask(self, data: bytes, node: int = SERVICE, timeout_s: float = ANSWER_WITHIN_S) -> object:
        query = self.asking.query(
            self.bob.hop, node, data, self.world.now, timeout_s=timeout_s, chunk_size=500
        )
        self.alice.settle()
        return query

    def reply_to_all(self) -> None:
        for message in reversed(self.bob.messages):
            answer = b"re: " + message.data
            self.asked.reply(message, answer, self.world.now, chunk_size=500)
        self.bob.messages.clear()
        self.bob.settle()


def test_every_query_gets_its_own_reply() -> None:
    """C5: in whatever order they come."""
    boxes = TwoBoxes()
    queries = {boxes.ask(b"%d" % number): number for number in range(10)}
    boxes.world.run(0.5)
    boxes.reply_to_all()
    boxes.world.run(0.5)
    answers = {
        each.query: each.data for each in boxes.alice.notices if isinstance(each, QueryAnswered)
    }
    assert answers == {query: b"re: %d" % number for query, number in queries.items()}
    assert len(boxes.asking) == 0
    assert len(boxes.alice.nodes) == 1
    boxes.world.run(60)
    assert len(boxes.alice.notices) == 10


def test_long_queries_and_long_replies_are_split() -> None:
    """C5."""
    boxes = TwoBoxes()
    boxes.ask(b"x" * 5000)
    boxes.world.run(0.5)
    boxes.reply_to_all()
    boxes.world.run(0.5)
    (answer,) = boxes.alice.notices
    assert isinstance(answer, QueryAnswered)
    assert answer.data == b"re: " + b"x" * 5000


def test_a_query_without_a_reply_ends_in_time() -> None:
    """C5."""
    boxes = TwoBoxes()
    query = boxes.ask(b"?", timeout_s=2.0)
    boxes.world.run(1.9)
    assert boxes.alice.notices == []
    boxes.world.run(0.2)
    assert [(type(each), vars_of(each)) for each in boxes.alice.notices] == [
        (QueryUnanswered, (query, "no reply"))
    ]
    boxes.reply_to_all()
    boxes.world.run(1)
    assert len(boxes.alice.notices) == 1


def vars_of(event: object) -> tuple[object, str]:
    assert isinstance(event, QueryUnanswered)
    return event.query, event.reason


def test_a_query_to_an_unknown_node_fails_soon() -> None:
    """C5: no tower there, no node there."""
    boxes = TwoBoxes()
    missing = boxes.ask(b"?", node=51)
    boxes.world.run(0.5)
    assert vars_of(boxes.alice.notices[0]) == (missing, "no such node there")
    boxes.world.network.change(Conditions(blocked=True))
    gone = boxes.ask(b"?")
    boxes.world.run(0.5)
    assert vars_of(boxes.alice.notices[1]) == (gone, "undelivered: no acknowledgement")


def test_a_cancelled_query_causes_no_event() -> None:
    """C5."""
    boxes = TwoBoxes()
    query = boxes.asking.query(boxes.bob.hop, SERVICE, b"?", 0.0)
    boxes.asking.cancel(query)
    boxes.asking.cancel(query)
    boxes.alice.settle()
    boxes.world.run(10)
    assert boxes.alice.notices == []


def test_open_queries_are_bounded() -> None:
    """C5."""
    boxes = TwoBoxes(Conditions(blocked=True))
    for _ in range(QUERIES_MAX):
        boxes.ask(b"?")
    with pytest.raises(CongestionError):
        boxes.ask(b"?")
    boxes.world.run(60)
    assert len(boxes.asking) == 0
    boxes.ask(b"?")


def test_a_query_that_cannot_be_sent_leaves_nothing_behind() -> None:
    """C5."""
    boxes = TwoBoxes()
    with pytest.raises(UsageError):
        boxes.asking.query(bytes(300), SERVICE, b"?", 0.0)
    assert len(boxes.alice.nodes) == 1
    assert len(boxes.asking) == 0


def test_replies_of_strangers_are_dropped() -> None:
    """C5: to the node that asks, and to the one that was asked."""
    boxes = TwoBoxes()
    query = boxes.asking.query(boxes.bob.hop, SERVICE, b"?", 0.0)
    boxes.alice.settle()
    stranger = CppPeer(boxes.world)
    stranger.send_node(boxes.alice, NodePacket(SERVICE, query.node, b"lie"))
    stranger.send_node(boxes.alice, NodePacket(SERVICE, SERVICE, b"lie"))
    stranger.send_node(boxes.alice, NodePacket.error(SERVICE, query.node))
    stranger.send_node(boxes.alice, NodePacket.error(SERVICE, SERVICE))
    boxes.world.run(0.5)
    assert boxes.alice.notices == []
    assert boxes.alice.tower.dropped["reply from a stranger"] == 2


def test_replies_to_the_queried_node_go_to_the_oldest_query() -> None:
    """C5, C8: which is all that can be known of them."""
    world = CrowWorld()
    station, peer = world.station("10.0.0.1"), CppPeer(world)
    peer.react = peer.acknowledge
    box, other = MessageBox(station.nodes), MessageBox(station.nodes)
    queries = [box.query(peer.hop, SERVICE, b"?", 0.0) for _ in range(2)]
    station.settle()
    for answer in (b"1", b"2"):
        peer.send_node(station, NodePacket(SERVICE, SERVICE, answer))
    world.run(0.1)
    assert station.notices == [QueryAnswered(queries[0], b"1"), QueryAnswered(queries[1], b"2")]
    peer.send_node(station, NodePacket(SERVICE, SERVICE, b"3"))
    world.run(0.1)
    assert peer.node_packets[-1] == NodePacket.error(SERVICE, SERVICE)
    assert len(other) == 0
