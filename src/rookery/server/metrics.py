"""Status pages of a server: liveness, readiness, and metrics for Prometheus."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from rookery.runtime.net.http_listener import HttpResponse


class MetricsSource(Protocol):
    """What a server shows of itself."""

    @property
    def problems(self) -> list[str]:
        """Why it is not ready; empty when it is."""

    def gauges(self) -> Mapping[str, tuple[str, float]]:
        """Text and value by name."""

    def counters(self) -> Mapping[str, tuple[str, str, Mapping[str, int]]]:
        """Text, label and values by name."""


class StatusPages:
    """`answer` is what the HTTP listener asks for any path but the WebSocket's."""

    def __init__(self, server: MetricsSource) -> None:
        self._server = server
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_ServerMetrics(server))

    def answer(self, path: str) -> HttpResponse:
        match path:
            case "/healthz":
                return _json({"live": True})
            case "/readyz":
                problems = self._server.problems
                return _json(
                    {"ready": not problems, "problems": problems}, 503 if problems else 200
                )
            case "/metrics":
                return HttpResponse(200, generate_latest(self._registry), CONTENT_TYPE_LATEST)
        return _json({"error": "try /healthz, /readyz or /metrics"}, 404)


class _ServerMetrics(Collector):
    """Prometheus text, made on each request."""

    def __init__(self, server: MetricsSource) -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        for name, (text, value) in self._server.gauges().items():
            yield GaugeMetricFamily(f"rookery_server_{name}", text, value=value)
        for name, (text, label, values) in self._server.counters().items():
            family = CounterMetricFamily(f"rookery_server_{name}", text, labels=[label])
            for key, count in values.items():
                family.add_metric([key], count)
            yield family


def _json(fields: dict[str, object], status: int = 200) -> HttpResponse:
    return HttpResponse(status, msgspec.json.encode({"v": 1, **fields}))
