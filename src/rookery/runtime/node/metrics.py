"""Metrics of a node for Prometheus, and its health for supervisors, over HTTP.

    GET /metrics    counters and gauges, in Prometheus' text format
    GET /live       200 while the node sees to its links, else 503
    GET /ready      200 once it can reach its realm, else 503 and why not

Everything is read from snapshots when it is asked for: nothing is counted twice. Counters are
named `rookery_<noun>_<unit>_total`. Labels name peers by their short hashname and are bounded as
the node's own tables are.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from rookery.runtime.net.http_listener import HttpListener, HttpRequest, HttpResponse
from rookery.runtime.node.members import Reachability
from rookery.runtime.node.snapshot import ControlledNode, NodeStatus, PeerRow, PeerState
from rookery.runtime.outbox.metrics import OutboxCollector
from rookery.runtime.outbox.queue_view import QueueView

_PEER = ("peer", "name")
_ADVICE_STATES = ("off", "missing", "stale", "followed")


class Metrics:
    """Answers for one node; give `answer` to an `HttpListener`, or call `listen`."""

    def __init__(self, node: ControlledNode, queues: QueueView | None = None) -> None:
        self._node = node
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_NodeCollector(node))
        if queues is not None:
            self._registry.register(OutboxCollector(queues))

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> HttpListener:
        """Serve there until the listener is closed; UsageError when that cannot be."""
        return await HttpListener.bind(self.answer, host, port)

    def answer(self, request: HttpRequest) -> HttpResponse:
        if request.method != "GET":
            return _json({"error": "Method not allowed"}, 405)
        match request.path:
            case "/metrics":
                body = generate_latest(self._registry)
                return HttpResponse(200, body, CONTENT_TYPE_LATEST)
            case "/live":
                return _live(self._node.status())
            case "/ready":
                return _ready(self._node.status())
        return _json({"error": "try /metrics, /live or /ready"}, 404)


def _live(status: NodeStatus) -> HttpResponse:
    fields: dict[str, object] = {"live": not status.is_stale, "worked_ago_s": status.worked_ago_s}
    return _json(fields, 503 if status.is_stale else 200)


def _ready(status: NodeStatus) -> HttpResponse:
    is_ready = status.is_ready and not status.is_stale
    fields: dict[str, object] = {"ready": is_ready, "problems": status.problems}
    return _json(fields, 200 if is_ready else 503)


def _json(fields: dict[str, object], status: int) -> HttpResponse:
    return HttpResponse(status, msgspec.json.encode({"v": 1, **fields}))


class _NodeCollector(Collector):
    """Makes metrics of snapshots at each scrape."""

    def __init__(self, node: ControlledNode) -> None:
        self._node = node

    def collect(self) -> Iterator[Metric]:
        yield from _of_node(self._node.status())
        yield from _of_peers(tuple(self._node.peers()))
        yield _gauge(
            "rookery_route_members",
            "Members by how they are reached.",
            ("reach",),
            _count(member.reach.value for member in self._node.members()),
            (reach.value for reach in Reachability),
        )
        yield from self._counters()

    def _counters(self) -> Iterator[Metric]:
        counters = self._node.counters()
        yield _counter(
            "rookery_route_packets",
            "Packets on routes by what became of them.",
            ("fate",),
            {(fate,): count for fate, count in counters.packets.items()},
        )
        yield _counter(
            "rookery_dropped_packets",
            "Packets on routes that were dropped, by reason.",
            ("reason",),
            {(reason,): count for reason, count in counters.dropped.items()},
        )
        yield _counter(
            "rookery_datagram_packets",
            "Datagrams by class and by what became of them.",
            ("class", "fate"),
            {
                (kind, fate): count
                for kind, fates in counters.datagrams.items()
                for fate, count in fates.items()
            },
        )
        yield _counter(
            "rookery_mesh_bytes",
            "Bytes relayed for others, and sent to keep the realm in step.",
            ("purpose",),
            {(purpose,): count for purpose, count in counters.bytes.items()},
        )
        yield _counter(
            "rookery_endpoint_refused_packets",
            "Packets refused below the mesh, by kind of error.",
            ("error",),
            {(kind,): count for kind, count in counters.endpoint.items()},
        )
        yield _counter(
            "rookery_refused_joins",
            "Requests to join the realm that were refused, by reason.",
            ("reason",),
            {(reason,): count for reason, count in counters.joins.items()},
        )
        yield _counter(
            "rookery_refused_frames",
            "Frames refused, by reason and by who sent them.",
            ("reason", "source"),
            {(entry.reason, entry.source): entry.count for entry in counters.refused},
        )


def _of_node(status: NodeStatus) -> Iterator[Metric]:
    labels = ("hashname", "name", "realm", "version")
    values = (status.hashname, status.name, status.realm, status.version)
    yield _gauge("rookery_node_info", "Who this is.", labels, {values: 1})
    for name, text, value in (
        ("rookery_node_uptime_seconds", "Since the node started.", status.uptime_s),
        ("rookery_node_worked_ago_seconds", "Since it saw to its links.", status.worked_ago_s),
        ("rookery_node_ready", "1 once it can reach its realm.", status.is_ready),
        ("rookery_realm_members", "Members of the realm.", status.members),
        (
            "rookery_certificate_end_timestamp_seconds",
            "When its certificate ends, Unix time.",
            status.certificate_ends_at,
        ),
    ):
        yield GaugeMetricFamily(name, text, value=float(value))
    yield _gauge(
        "rookery_advice_state",
        "1 for what becomes of advice about links.",
        ("state",),
        {(status.advice,): 1},
        _ADVICE_STATES,
    )


def _of_peers(peers: tuple[PeerRow, ...]) -> Iterator[Metric]:
    yield _gauge(
        "rookery_peer_links",
        "Links with members by state.",
        ("state",),
        _count(peer.state.value for peer in peers),
        (state.value for state in PeerState),
    )
    in_bytes = {_labels(peer): peer.in_bytes for peer in peers}
    out_bytes = {_labels(peer): peer.out_bytes for peer in peers}
    yield _counter("rookery_peer_in_bytes", "Received from a peer.", _PEER, in_bytes)
    yield _counter("rookery_peer_out_bytes", "Sent to a peer.", _PEER, out_bytes)
    advised = {_labels(peer): peer.advice for peer in peers if peer.advice > 1}
    yield _gauge("rookery_peer_advice_ratio", "Cost by that measured.", _PEER, advised)
    rtts = {_labels(peer): peer.rtt_ms / 1e3 for peer in peers if peer.rtt_ms is not None}
    yield _gauge("rookery_peer_rtt_seconds", "Round trip, smoothed.", _PEER, rtts)
    costs = {_labels(peer): peer.cost_us / 1e6 for peer in peers if peer.cost_us is not None}
    yield _gauge("rookery_peer_cost_seconds", "What routing counts for it.", _PEER, costs)
    losses = {
        (*_labels(peer), direction): loss
        for peer in peers
        for direction, loss in (("out", peer.loss_out), ("in", peer.loss_in))
        if loss is not None
    }
    labels = (*_PEER, "direction")
    yield _gauge("rookery_peer_loss_ratio", "Lost on the way, 0 to 1.", labels, losses)


def _labels(peer: PeerRow) -> tuple[str, ...]:
    return peer.node.hashname[:8], peer.node.name


def _count(names: Iterable[str]) -> dict[tuple[str, ...], float]:
    return {(name,): count for name, count in Counter(names).items()}


def _gauge(
    name: str,
    text: str,
    labels: tuple[str, ...],
    values: dict[tuple[str, ...], float],
    always: Iterable[str] = (),
) -> Metric:
    """A gauge; what `always` names is there even when it is zero."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in (dict.fromkeys(((name,) for name in always), 0.0) | values).items():
        family.add_metric(key, value)
    return family


def _counter(
    name: str, text: str, labels: tuple[str, ...], values: dict[tuple[str, ...], int]
) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
