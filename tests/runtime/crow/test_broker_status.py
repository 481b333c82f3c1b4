"""The broker's status over HTTP (C8), field by field as the C++ broker has it."""

import json

import pytest

from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.orders import BrokerClient, BrokerSend
from rookery.runtime.crow.broker_status import SHOWN_SIZE_MAX, CrowBrokerStatus
from rookery.runtime.net.http_listener import HttpRequest
from rookery.wire.crow.pubsub import Subscribe

ALICE = BrokerClient(bytes.fromhex("0c7f0000011be5"), 98)


class StatusApi:
    def __init__(self) -> None:
        self.broker = Broker(0.0)
        self.sent: list[BrokerSend] = []
        self.status = CrowBrokerStatus(self.broker, self.publish, lambda: 5.0)

    def publish(self, theme: bytes, data: bytes) -> None:
        self.sent += self.broker.publish(theme, data, 5.0)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = self.status.answer(HttpRequest(method, path, data))
        assert response.content_type == "application/json"
        return response.status, json.loads(response.body)


@pytest.fixture
def api() -> StatusApi:
    api = StatusApi()
    for data in (b"one", b"t\xff\n"):
        api.broker.publish(b"a/b", data, 1.0)
    api.broker.received(ALICE, Subscribe(b"a/b", 1, 100).serialize(), 2.0)
    api.broker.received(ALICE, Subscribe(b"\xff", 0, 100).serialize(), 3.0)
    api.broker.received(ALICE, b"nonsense", 3.0)
    return api


def test_the_status_counts(api: StatusApi) -> None:
    status, body = api.ask("GET", "/api/status")
    remembered = body.pop("remembered_bytes")
    assert isinstance(remembered, int)
    assert remembered > 0
    assert (status, body) == (
        200,
        {
            "themes_count": 3,
            "clients_count": 1,
            "crow_clients_count": 1,
            "tcp_clients_count": 0,
            "subscriptions_count": 2,
            "published": 2,
            "dropped": {"malformed": 1},
        },
    )


def test_themes_have_their_times(api: StatusApi) -> None:
    status, body = api.ask("GET", "/api/themes")
    assert (status, body["count"]) == (200, 3)
    themes = body["themes"]
    assert isinstance(themes, list)
    first, control, odd = themes
    assert (first["name"], first["subscribers_count"], first["queue_size"]) == ("a/b", 1, 1000)
    assert first["activity_timestamp"] - first["publish_timestamp"] == pytest.approx(1000, abs=2)
    assert (control["name"], control["publish_timestamp"]) == ("crowker/control", 0)
    assert odd["name"] == "\\xff"


@pytest.mark.parametrize("name", ["a/b", "a%2Fb"])
def test_a_theme_shows_its_messages(api: StatusApi, name: str) -> None:
    status, body = api.ask("GET", f"/api/themes/{name}")
    assert (status, body["name"], body["messages"]) == (200, "a/b", ["t\\xFF\\n", "one"])


def test_not_all_messages_of_a_large_theme_are_shown(api: StatusApi) -> None:
    for _ in range(20):
        api.broker.publish(b"large", bytes(60_000), 5.0)
    _, body = api.ask("GET", "/api/themes/large")
    messages = body["messages"]
    assert isinstance(messages, list)
    assert sum(map(len, messages)) <= SHOWN_SIZE_MAX
    assert len(messages) == 4


def test_clients_are_named(api: StatusApi) -> None:
    status, body = api.ask("GET", "/api/clients")
    clients = body["clients"]
    assert isinstance(clients, list)
    assert (status, body["count"]) == (200, 1)
    assert isinstance(clients[0].pop("activity_timestamp"), int)
    assert clients[0] == {
        "type": "crow",
        "address": ".12.127.0.0.1:7141",
        "node": 98,
        "name": ".12.127.0.0.1:7141 node:98",
        "confirmed": False,
        "themes": ["a/b", "\\xff"],
    }


def test_publishing_reaches_the_subscribers(api: StatusApi) -> None:
    answer = api.ask("POST", "/api/publish", {"theme": "a/b", "data": "снова"})
    assert answer == (200, {"success": True, "theme": "a/b"})
    assert [send.client for send in api.sent] == [ALICE]
    assert api.sent[0].body.endswith("снова".encode())


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "Invalid JSON"),
        ({"theme": "a"}, "Missing theme or data fields"),
        ({"theme": "a", "data": 1}, "Missing theme or data fields"),
        ([], "Missing theme or data fields"),
        ({"theme": "", "data": "x"}, "Theme cannot be empty"),
        (
            {"theme": "a" * 256, "data": "x"},
            "a theme, the data or a number is too large for its field",
        ),
    ],
)
def test_what_cannot_be_published_is_told(api: StatusApi, body: object, error: str) -> None:
    answer = api.ask("POST", "/api/publish", body)
    assert answer == (400, {"success": False, "error": error})


def test_the_queue_size_can_be_set(api: StatusApi) -> None:
    answer = api.ask("POST", "/api/themes/a%2Fb/queue-size", {"size": 1})
    assert answer == (200, {"success": True, "new_queue_size": 1})
    theme = api.broker.themes.find(b"a/b")
    assert theme is not None
    assert len(theme.messages) == 1


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "Invalid JSON"),
        ({"size": "x"}, "Missing or invalid size field"),
        ({"size": -1}, "a theme remembers 0 to 100000 messages"),
    ],
)
def test_a_wrong_queue_size_is_told(api: StatusApi, body: object, error: str) -> None:
    assert api.ask("POST", "/api/themes/a/b/queue-size", body) == (400, {"error": error})


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/api/themes/unknown", 404),
        ("POST", "/api/themes/unknown/queue-size", 404),
        ("POST", "/api/status", 404),
        ("DELETE", "/api/themes/a/b", 405),
    ],
)
def test_other_requests_are_refused(api: StatusApi, method: str, path: str, status: int) -> None:
    assert api.ask(method, path)[0] == status
