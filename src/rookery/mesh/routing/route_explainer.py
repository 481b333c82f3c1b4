"""Route explainer: explains the routes of this node, and those of other members.

    our own      from the route table, which knows what is in use and what was before
    another's    computed from the claims held here, as that member would choose

Either comes with remarks about the nodes and links on its routes.
"""

from collections.abc import Iterable, Iterator, Mapping

from rookery.mesh.membership.neighbour import Neighbour
from rookery.mesh.quality.cost_advice import CostAdvice
from rookery.mesh.records.database import RecordDatabase
from rookery.mesh.routing.blackhole_relays import BlackholeRelays
from rookery.mesh.routing.route_candidates import explain_choice
from rookery.mesh.routing.route_explanation import (
    CONTRADICTED,
    PRETENDED,
    SILENT,
    UNANSWERED,
    RouteExplanation,
    RouteRemark,
)
from rookery.mesh.routing.route_table import RouteTable
from rookery.mesh.routing.routes import Routes
from rookery.wire.mesh.node_id import NodeId

DISPUTE_FACTOR = 2  # between what the ends of a link say that it costs,
DISPUTE_US = 1000  # and at least so much
HOLDING_S = 0.002  # smoothed; pings are held for longer than that only under load


class RouteExplainer:
    """Explains the routes of `table`, and those of any member over the same graph."""

    def __init__(
        self,
        table: RouteTable,
        database: RecordDatabase,
        neighbours: Mapping[NodeId, Neighbour],
        blackhole_relays: BlackholeRelays,
        cost_advice: CostAdvice,
    ) -> None:
        self._neighbours = neighbours
        self._table = table
        self._database = database
        self._blackhole_relays = blackhole_relays
        self._cost_advice = cost_advice

    def explain(
        self, source: NodeId, destination: NodeId, now: float, unix_s: float
    ) -> RouteExplanation:
        """Explain the choice with all candidates; slow."""
        if source == self._table.routes.source:
            explanation = self._table.explain(destination, now)
            return self._remarked(explanation, self._passed_over(destination, now), unix_s)
        own = self._table.routes
        routes = Routes(own.graph.seen_from(source), source, own.policy)
        explanation = explain_choice(routes, destination, routes.to(destination, now=now), now)
        return self._remarked(explanation, self._grounds(source, unix_s), unix_s)

    def _passed_over(self, destination: NodeId, now: float) -> Iterator[RouteRemark]:
        """The relays that are passed over, and why."""
        doubts = self._blackhole_relays.towards(destination)
        yield from (
            RouteRemark(route, SILENT) for route in {one.route for one in doubts if not one.reason}
        )
        for doubt in doubts:
            if doubt.reason:
                count = sum(one.route == doubt.route for one in doubts)
                which = (
                    "" if count == 1 else f", or over another of {count} relays of the same route"
                )
                text = f"{UNANSWERED} for {doubt.until - now:.0f} s: {doubt.reason}{which}"
                yield RouteRemark((doubt.relay,), text)

    def _grounds(self, source: NodeId, unix_s: float) -> Iterator[RouteRemark]:
        """Remarks on what the explanation of another member's routes is based on."""
        record = self._database.records.get(source)
        if record is None:
            yield RouteRemark((source,), "has told of no links that we know of")
        else:
            age_s = max(0.0, unix_s - record.made_s)
            yield RouteRemark((source,), f"told of its links {age_s:.0f} s ago")
        hold_factor = self._table.routes.policy.hold_factor
        text = (
            "was not asked: this follows from the records held here, and it may hold on to a route"
        )
        yield RouteRemark((source,), f"{text} that counts up to {hold_factor:g} × the best")

    def _remarked(
        self, explanation: RouteExplanation, remarks: Iterable[RouteRemark], unix_s: float
    ) -> RouteExplanation:
        culprits = self._culprits(explanation)
        disputes = [*self._disputes(explanation), *self._holders(explanation)]
        return explanation.with_remarks(
            (*remarks, *culprits, *disputes, *self._cost_advice.remarks(explanation, unix_s))
        )

    def _disputes(self, explanation: RouteExplanation) -> Iterator[RouteRemark]:
        """Links on those routes whose ends claim very different costs."""
        for ends in explanation.edges():
            claims = self._table.routes.graph.claimed(*ends)
            if claims is None:
                continue
            less_us, more_us = sorted(claims)
            if more_us > DISPUTE_FACTOR * less_us and more_us > less_us + DISPUTE_US:
                said = " and ".join(f"{claim / 1000:.1f} ms" for claim in claims)
                yield RouteRemark(ends, f"costs {said} as its ends say: the worse of both counts")

    def _holders(self, explanation: RouteExplanation) -> Iterator[RouteRemark]:
        """Neighbours on those routes that claim implausible holding times."""
        own = self._table.routes.source
        for node, neighbour in self._neighbours.items():
            claimed_s = max(
                (one.quality.disbelieved_s for one in neighbour.monitors()), default=0.0
            )
            if claimed_s > HOLDING_S and explanation.concerns(node):
                text = f"claims to have held beats for {1000 * claimed_s:.0f} ms"
                yield RouteRemark((own, node), f"{text} that nothing bears out: it is not believed")

    def _culprits(self, explanation: RouteExplanation) -> Iterator[RouteRemark]:
        for what, culprits in (
            (CONTRADICTED, self._database.contradictions),
            (PRETENDED, self._database.pretences),
        ):
            for culprit, times in culprits.items():
                if explanation.concerns(culprit):
                    yield RouteRemark((culprit,), f"{what}, {times} ×")
