"""What a broker tells over HTTP, in the words of the C++ broker's own status interface.

    GET  /api/status                      counts
    GET  /api/themes                      all themes
    GET  /api/themes/NAME                 one theme, with its messages, newest first
    GET  /api/clients                     who subscribes
    POST /api/publish                     {"theme": …, "data": …}
    POST /api/themes/NAME/queue-size      {"size": …}

NAME is percent-encoded; a slash may also be written as it is. Times are Unix milliseconds.
"""

import time
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

import msgspec

from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.clients import BrokerSession
from rookery.crow.pubsub.commands import client_name, messages
from rookery.crow.pubsub.themes import Theme
from rookery.errors import UsageError
from rookery.runtime.net.http_listener import HttpRequest, HttpResponse
from rookery.wire.crow import address

SHOWN_SIZE_MAX = 1 << 20  # of the messages of one theme

_THEMES = "/api/themes/"
_QUEUE_SIZE = "/queue-size"


class _PublishRequest(msgspec.Struct):
    theme: str
    data: str


class _QueueSizeRequest(msgspec.Struct):
    size: int


class CrowBrokerStatus:
    """Answers requests about one broker; `now` is its clock, `publish` also sends."""

    def __init__(
        self, broker: Broker, publish: Callable[[bytes, bytes], None], now: Callable[[], float]
    ) -> None:
        self._broker = broker
        self._publish_now = publish
        self._now = now

    def answer(self, request: HttpRequest) -> HttpResponse:
        """For an `HttpListener`."""
        match request.method, request.path:
            case "GET", path:
                return self._get(path)
            case "POST", "/api/publish":
                return self._publish(request.body)
            case "POST", path if path.startswith(_THEMES) and path.endswith(_QUEUE_SIZE):
                return self._resize(path[len(_THEMES) : -len(_QUEUE_SIZE)], request.body)
            case "POST", _:
                return _json({"error": "Not found"}, 404)
        return _json({"error": "Method not allowed"}, 405)

    def _get(self, path: str) -> HttpResponse:
        if path == "/api/status":
            return _json(self._status())
        if path == "/api/themes":
            themes = [self._theme(theme) for theme in self._broker.themes]
            return _json({"themes": themes, "count": len(themes)})
        if path == "/api/clients":
            clients = [self._client(session) for session in self._broker.clients]
            return _json({"clients": clients, "count": len(clients)})
        if not path.startswith(_THEMES):
            return _json({"error": "Not found"}, 404)
        theme = self._broker.themes.find(unquote_to_bytes(path[len(_THEMES) :]))
        if theme is None:
            return _json({"error": "Theme not found"}, 404)
        return _json(self._theme(theme) | {"messages": _shown(theme)})

    def _status(self) -> dict[str, object]:
        broker = self._broker
        return {
            "themes_count": len(broker.themes),
            "clients_count": len(broker.clients),
            "crow_clients_count": len(broker.clients),
            "tcp_clients_count": 0,  # of a text interface that no longer exists
            "subscriptions_count": broker.clients.subscriptions,
            "remembered_bytes": broker.themes.size,
            "published": broker.published,
            "dropped": dict(broker.dropped),
        }

    def _theme(self, theme: Theme) -> dict[str, object]:
        published_at = theme.published_at
        return {
            "name": _text(theme.name),
            "subscribers_count": theme.subscribers,
            "queue_size": theme.messages_max,
            "publish_timestamp": 0 if published_at is None else self._unix_ms(published_at),
            "activity_timestamp": self._unix_ms(theme.active_at),
        }

    def _client(self, session: BrokerSession) -> dict[str, object]:
        return {
            "type": "crow",
            "address": address.format(session.client.address),
            "node": session.client.node,
            "name": client_name(session.client),
            "confirmed": session.is_confirmed,
            "activity_timestamp": self._unix_ms(session.last_seen_at),
            "themes": [_text(theme) for theme in session.subscriptions],
        }

    def _publish(self, body: bytes) -> HttpResponse:
        try:
            wanted = msgspec.json.decode(body, type=_PublishRequest)
            if not wanted.theme:
                raise UsageError("Theme cannot be empty")
            self._publish_now(wanted.theme.encode(), wanted.data.encode())
        except msgspec.ValidationError:
            return _json({"success": False, "error": "Missing theme or data fields"}, 400)
        except msgspec.DecodeError:
            return _json({"success": False, "error": "Invalid JSON"}, 400)
        except (UsageError, UnicodeEncodeError) as error:
            return _json({"success": False, "error": str(error)}, 400)
        return _json({"success": True, "theme": wanted.theme})

    def _resize(self, name: str, body: bytes) -> HttpResponse:
        theme = self._broker.themes.find(unquote_to_bytes(name))
        if theme is None:
            return _json({"error": "Theme not found"}, 404)
        try:
            wanted = msgspec.json.decode(body, type=_QueueSizeRequest)
            self._broker.themes.resize(theme, wanted.size)
        except msgspec.ValidationError:
            return _json({"error": "Missing or invalid size field"}, 400)
        except msgspec.DecodeError:
            return _json({"error": "Invalid JSON"}, 400)
        except UsageError as error:
            return _json({"error": str(error)}, 400)
        return _json({"success": True, "new_queue_size": wanted.size})

    def _unix_ms(self, at: float) -> int:
        return round((time.time() - self._now() + at) * 1000)


def _shown(theme: Theme) -> list[str]:
    shown, size = [], 0
    for text in messages(theme, len(theme.messages)):
        size += len(text)
        if size > SHOWN_SIZE_MAX:
            break
        shown.append(text)
    return shown


def _text(name: bytes) -> str:
    return name.decode(errors="backslashreplace")


def _json(content: dict[str, object], status: int = 200) -> HttpResponse:
    return HttpResponse(status, msgspec.json.encode(content))
