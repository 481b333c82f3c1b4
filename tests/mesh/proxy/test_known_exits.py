"""M8: candidates for an automatic exit are members with the role, a class and a route."""

from rookery.mesh.membership.membership import Member
from rookery.mesh.proxy.exit_memory import Exit, known_exits
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import Record

NODES = [bytes([number]) * 8 for number in range(1, 7)]
GOOD, PLAIN, MUTE, FAR, STRANGER, OTHER = NODES
COSTS = {GOOD: 100, PLAIN: 1, MUTE: 1, STRANGER: 1, OTHER: 200}


def member(node: NodeId, *roles: str) -> Member:
    return Member(node, f"name{node[0]}", b"", b"", frozenset(roles), "", b"", 0)


def record(node: NodeId, *services: str) -> Record:
    return Record(node, 1, 1, 0, 60, services=services)


def test_only_members_with_the_role_a_class_and_a_route_are_asked() -> None:
    members = {
        node: member(node, *([] if node == PLAIN else ["exit"]))
        for node in NODES
        if node != STRANGER
    }
    records = {node: record(node, "exit") for node in NODES if node not in (MUTE, OTHER)}
    records |= {MUTE: record(MUTE), OTHER: record(OTHER, "exit:tcp/443", "serial:meter")}
    assert known_exits(members, records, COSTS.get) == [
        Exit("name1", ("exit",), 100),
        Exit("name6", ("exit:tcp/443", "serial:meter"), 200),
    ]
