"""Metrics and health over HTTP, read from snapshots."""

import asyncio
import json
import re
from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from rookery.runtime.net.http_listener import HttpRequest
from rookery.runtime.node.metrics import Metrics
from tests.runtime.colony import ALICE, BOB, Colony

NAME = re.compile(r"rookery(_[a-z]+)+")


@pytest.fixture
def colony() -> Colony:
    return Colony()


@pytest.fixture
def metrics(colony: Colony) -> Metrics:
    return Metrics(colony)


def samples(metrics: Metrics) -> Iterator[tuple[str, dict[str, str], float]]:
    response = metrics.answer(HttpRequest("GET", "/metrics"))
    assert response.status == 200
    assert response.content_type.startswith("text/plain; version=")
    for family in text_string_to_metric_families(response.body.decode()):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


def value(metrics: Metrics, name: str, /, **labels: str) -> float:
    (found,) = (
        value
        for other, its, value in samples(metrics)
        if other == name and labels.items() <= its.items()
    )
    return found


def test_counters_say_what_they_count_and_in_which_unit(metrics: Metrics) -> None:
    families = text_string_to_metric_families(
        metrics.answer(HttpRequest("GET", "/metrics")).body.decode()
    )
    names = {sample.name: family.type for family in families for sample in family.samples}
    assert len(names) > 15
    for name, kind in names.items():
        assert NAME.fullmatch(name)
        assert (kind == "counter") == name.endswith(
            ("_bytes_total", "_packets_total", "_frames_total", "_joins_total")
        )


def test_they_are_what_the_snapshots_say(metrics: Metrics) -> None:
    bob = BOB.hashname[:8]
    assert value(metrics, "rookery_node_info", hashname=ALICE.hashname, realm="home") == 1
    assert value(metrics, "rookery_peer_links", state="up") == 1
    assert value(metrics, "rookery_peer_links", state="suspect") == 0
    assert value(metrics, "rookery_peer_in_bytes_total", peer=bob, name="bob") == 2_000_000
    assert value(metrics, "rookery_peer_rtt_seconds", peer=bob) == pytest.approx(0.000412)
    assert value(metrics, "rookery_peer_loss_ratio", peer=bob, direction="in") == 0.01
    assert value(metrics, "rookery_route_members", reach="route") == 2
    assert value(metrics, "rookery_route_members", reach="relay") == 0
    assert value(metrics, "rookery_mesh_bytes_total", purpose="relayed") == 8400
    assert value(metrics, "rookery_route_packets_total", fate="forwarded") == 7
    assert value(metrics, "rookery_dropped_packets_total", reason="no route") == 2
    assert (
        value(metrics, "rookery_datagram_packets_total", **{"class": "fallback", "fate": "udp"})
        == 5
    )
    assert value(metrics, "rookery_refused_joins_total", reason="unknown invitation") == 6
    assert value(metrics, "rookery_refused_frames_total", source="dave") == 3


def test_what_is_not_measured_is_left_out(metrics: Metrics) -> None:
    peers = [labels["peer"] for name, labels, _ in samples(metrics) if name.endswith("rtt_seconds")]
    assert peers == [BOB.hashname[:8]]


def test_a_scrape_sees_the_node_as_it_is_then(colony: Colony, metrics: Metrics) -> None:
    colony.changed(members=6)
    assert value(metrics, "rookery_realm_members") == 6
    colony.changed(members=7)
    assert value(metrics, "rookery_realm_members") == 7


def test_nothing_is_added_to_the_registry_of_all(metrics: Metrics) -> None:
    assert value(metrics, "rookery_node_ready") == 1
    assert REGISTRY.get_sample_value("rookery_node_ready") is None


@pytest.mark.parametrize(
    ("changes", "live", "ready"),
    [
        ({}, 200, 200),
        ({"is_ready": False, "problems": ("no peer is up",)}, 200, 503),
        ({"worked_ago_s": 60.0}, 503, 503),
    ],
)
def test_health_is_a_status_code(
    colony: Colony, metrics: Metrics, changes: dict[str, object], live: int, ready: int
) -> None:
    colony.changed(**changes)
    assert metrics.answer(HttpRequest("GET", "/live")).status == live
    response = metrics.answer(HttpRequest("GET", "/ready"))
    assert response.status == ready
    assert json.loads(response.body)["problems"] == list(changes.get("problems", ()))  # type: ignore[call-overload]


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/live", 405), ("GET", "/", 404)])
def test_there_is_nothing_else(metrics: Metrics, method: str, path: str, status: int) -> None:
    assert metrics.answer(HttpRequest(method, path)).status == status


async def test_it_listens_on_its_own(metrics: Metrics) -> None:
    listener = await metrics.listen()
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"rookery_peer_out_bytes_total{" in answer
    writer.close()
    await listener.close()
