"""Expulsion: what a node lets go of when a membership ends, revoked or over.

its link, its streams, what relays and probes know of it, its record, its place in refusals
"""

from typing import TYPE_CHECKING

from rookery.mesh.membership import Member

if TYPE_CHECKING:
    from rookery.mesh.node import Node


def expel(node: "Node", member: Member, now: float) -> None:
    """All of it at once, so that nothing outlives the membership."""
    node.refused.note(member.hashname, "no member any more", is_member=True)
    node.neighbourhood.expel(member)
    node.tunnelling.expel(member.hashname, now)
    node.transit.forget(member.node)
    node.probing.forget(member.node)
    node.database.forget(member.node)
    node.linking.expel(member, now)
