"""Serve any ASGI 3 application over `thtp`: HTTP scopes, streaming both ways."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from urllib.parse import unquote

from rookery.errors import ChannelError, UsageError
from rookery.link.channels.thtp import RequestHead
from rookery.runtime.endpoint.channels.interface import Handler
from rookery.runtime.endpoint.channels.thtp_server import ThtpRequest, thtp_handler

Scope = MutableMapping[str, object]
Event = MutableMapping[str, object]
AsgiApp = Callable[
    [Scope, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Awaitable[None]
]


def serve_asgi(app: AsgiApp) -> Handler:
    """A channel handler that answers requests by `app`."""

    async def serve(request: ThtpRequest) -> None:
        exchange = _AsgiExchange(request)
        try:
            await app(_scope(request.head, request.hashname), exchange.receive, exchange.send)
        except ConnectionResetError as error:
            if not exchange.disconnected:
                raise
            raise ChannelError("the peer is gone") from error

    return thtp_handler(serve)


def _scope(head: RequestHead, hashname: str) -> Scope:
    raw_path, _, query = head.path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": head.method,
        "scheme": "http",
        "path": unquote(raw_path),
        "raw_path": raw_path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in head.headers],
        "client": (hashname, 0),
        "server": None,
    }


class _AsgiExchange:
    """The two callables an application is given."""

    def __init__(self, request: ThtpRequest) -> None:
        self.disconnected = False
        self._request = request
        self._body_read = False

    async def receive(self) -> Event:
        if not self._body_read:
            try:
                piece = await self._request.piece()
            except ChannelError:
                return self._disconnect()
            self._body_read = piece is None
            return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}
        await self._request.wait_disconnected()
        return self._disconnect()

    async def send(self, event: Event) -> None:
        try:
            await self._send(event)
        except ChannelError as error:
            # What the ASGI specification has an application expect of a client that left.
            self.disconnected = True
            raise ConnectionResetError("the peer is gone") from error

    async def _send(self, event: Event) -> None:
        match event["type"]:
            case "http.response.start":
                self._request.start(_status(event), _headers(event.get("headers", ())))
            case "http.response.body":
                body = event.get("body", b"")
                if not isinstance(body, bytes | bytearray | memoryview):
                    raise UsageError("an ASGI body is bytes")
                if event.get("more_body"):
                    await self._request.write(bytes(body))
                else:
                    await self._request.finish(bytes(body))
            case other:
                raise UsageError(f"unexpected ASGI event {other!r}")

    def _disconnect(self) -> Event:
        self.disconnected = True
        return {"type": "http.disconnect"}


def _status(event: Event) -> int:
    status = event.get("status")
    if not isinstance(status, int):
        raise UsageError("an ASGI response starts with a status")
    return int(status)


def _headers(pairs: object) -> Iterable[tuple[str, str]]:
    if not isinstance(pairs, Iterable):
        raise UsageError("ASGI headers are pairs of bytes")
    for name, value in pairs:
        yield bytes(name).decode("latin-1"), bytes(value).decode("latin-1")
