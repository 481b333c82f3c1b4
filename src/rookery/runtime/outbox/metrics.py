"""Metrics of an outbox: what waits for whom, how requests ended, which bounds are near."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rookery.outbox.state import RequestState
from rookery.runtime.outbox.queue_view import QueueView

_PEER = ("peer", "name")


class OutboxCollector(Collector):
    """Looks whenever somebody scrapes; peers are bounded as the realm is."""

    def __init__(self, queues: QueueView) -> None:
        self._queues = queues

    def collect(self) -> Iterator[Metric]:
        requests = GaugeMetricFamily(
            "rookery_outbox_requests", "Requests without an end.", labels=(*_PEER, "state")
        )
        size = GaugeMetricFamily("rookery_outbox_bytes", "Memory they take.", labels=_PEER)
        full = GaugeMetricFamily(
            "rookery_outbox_full_ratio", "How near a peer's bound is, 0 to 1.", labels=_PEER
        )
        alarm = GaugeMetricFamily(
            "rookery_outbox_alarm", "1 while a peer's bound is near.", labels=_PEER
        )
        sessions = CounterMetricFamily(
            "rookery_outbox_sessions", "Sessions with a peer.", labels=_PEER
        )
        for row in self._queues.rows():
            peer = (row.node.hashname[:8], row.node.name)
            for state, count in row.states.items():
                requests.add_metric((*peer, state), count)
            size.add_metric(peer, row.bytes)
            full.add_metric(peer, max(row.requests / row.requests_max, row.bytes / row.bytes_max))
            alarm.add_metric(peer, row.is_alarmed)
            sessions.add_metric(peer, row.sessions)
        yield from (requests, size, full, alarm, sessions)
        ended = CounterMetricFamily(
            "rookery_outbox_ended_requests", "Requests that ended, by how.", labels=("state",)
        )
        totals = self._queues.outbox.core.totals
        for end in RequestState:
            if end.is_end:
                ended.add_metric((end.value,), totals[end])
        yield ended
