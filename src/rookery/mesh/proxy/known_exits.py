"""Who in the realm calls itself an exit, what for, and how far away it is."""

from collections.abc import Callable, Mapping

from rookery.mesh.membership import Member
from rookery.mesh.proxy.exit_memory import Exit
from rookery.wire.certificate import EXIT
from rookery.wire.node_id import NodeId
from rookery.wire.record import Record

Cost = Callable[[NodeId], int | None]  # of the best route there; None when nothing leads there


def known_exits(
    members: Mapping[NodeId, Member], records: Mapping[NodeId, Record], cost_us: Cost
) -> list[Exit]:
    """The role comes from the certificate: a member cannot give it to itself."""
    found = []
    for node, record in records.items():
        member = members.get(node)
        if member is None or EXIT not in member.roles or not record.services:
            continue
        cost = cost_us(node)
        if cost is not None:
            found.append(Exit(member.hashname, record.services, cost))
    return found
