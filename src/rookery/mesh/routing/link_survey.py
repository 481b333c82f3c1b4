"""Link survey: every link of the realm that a member claims, as one node knows it.

    u's record: v at 5 ms, 1 % lost  ┐
                                      ├▶ link u–v: both sides' claims, and its cost, 7 ms
    v's record: u at 7 ms, 0 % lost  ┘

A link that only one side claims is listed too, and has no cost.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from rookery.mesh.routing.graph import AVOIDED_US, Edge, Graph, edge
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import LOSS_MAX, Record, RecordLink


class LinkClaim(msgspec.Struct, frozen=True, gc=False):
    """One end's claim about a link."""

    cost_us: int
    loss: float  # of what this end sends, 0 to 1
    bytes_per_s: float | None
    made_s: float  # unix time


class SurveyedLink(msgspec.Struct, frozen=True):
    """Both ends of a link, the smaller id first."""

    ends: Edge
    claims: tuple[LinkClaim | None, LinkClaim | None]  # of the first end, and of the second
    cost_us: int | None  # what counts in both directions; None: the link does not count
    is_avoided: bool = False  # it failed a packet lately

    @property
    def made_s(self) -> float:
        """When the older of the claims was made."""
        return min(claim.made_s for claim in self.claims if claim is not None)


def survey(
    records: Mapping[NodeId, Record], graph: Graph, measured: Iterable[RecordLink], now_s: float
) -> Iterator[SurveyedLink]:
    """`measured` are the own links as they are now, at the unix time `now_s`."""
    own = graph.own
    sides: dict[Edge, dict[NodeId, LinkClaim]] = {}
    for record in records.values():
        if record.origin != own:
            for link in record.links:
                claim = _claim(link, float(record.made_s))
                sides.setdefault(edge(record.origin, link.peer), {})[record.origin] = claim
    if own is not None:
        for link in measured:
            sides.setdefault(edge(own, link.peer), {})[own] = _claim(link, now_s)
    for ends, claims in sides.items():
        cost_us = graph.cost(*ends)
        is_avoided = graph.is_avoided(*ends)
        if cost_us is not None and is_avoided:
            cost_us -= AVOIDED_US
        both = claims.get(ends[0]), claims.get(ends[1])
        yield SurveyedLink(ends, both, cost_us, is_avoided)


def _claim(link: RecordLink, made_s: float) -> LinkClaim:
    return LinkClaim(link.cost_us, link.loss / LOSS_MAX, link.bytes_per_s, made_s)
