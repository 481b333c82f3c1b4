"""A web connection: one request for a page, or a WebSocket of text messages.

    GET /page                 ──▶  the page, and the end
    GET /rpc, Upgrade         ──▶  101, text messages both ways
    anything else             ──▶  400, 403, 404 or 405, and the end

No extension is negotiated, so nothing that a peer sends can inflate. Before a peer is admitted, its
messages are short. Messages that are not consumed stop the reading; bytes that the peer does not
take end the connection.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

import h11
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    CloseConnection,
    Event,
    Ping,
    Pong,
    TextMessage,
)
from wsproto.utilities import ProtocolError as WebSocketError

from rookery.errors import ProtocolError
from rookery.fleet.rpc.message import MESSAGE_SIZE_MAX
from rookery.runtime.net.http_listener import HttpResponse
from rookery.server.settings import ServerListenerLimits

RESOURCE = "/rpc"
FIRST_SIZE_MAX = 1024  # of a message before the client is authenticated
UNSUPPORTED, TOO_BIG, BROKEN = 1003, 1009, 1002  # reasons to close, as RFC 6455 numbers them

_GOODBYES = (1000, 1005)  # on purpose; a page that is left or loaded again says 1001
_HEAD_SIZE_MAX = 8192
_REASON_SIZE_MAX = 123

Page = Callable[[str], HttpResponse]


class WebConnectionOwner(Protocol):
    """Keeps count of the connections."""

    def connected(self, connection: "WebConnection") -> None:
        """A new connection; `abort` it to refuse."""

    def lost(self, connection: "WebConnection") -> None:
        """The connection is gone."""


class _MessageTooBigError(ProtocolError):
    """A message beyond all bounds."""


class WebConnection(asyncio.Protocol):
    """Reads and writes one connection; pages are answered here, messages are for the owner."""

    def __init__(
        self,
        page: Page,
        origins: tuple[str, ...],
        limits: ServerListenerLimits,
        owner: WebConnectionOwner,
    ) -> None:
        self._page = page
        self._origins = origins
        self._limits = limits
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_SIZE_MAX)
        self._socket: WSConnection | None = None
        self._transport: asyncio.Transport | None = None
        self._part: list[str] = []
        self._part_size = 0
        self._size_max = FIRST_SIZE_MAX
        self._received: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._closed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.address: tuple[str, int] = ("", 0)
        self.received_at = 0.0  # loop time of the last bytes
        self.is_broken = False  # the peer does not keep to the rules
        self.is_done = False  # it has said goodbye

    async def receive(self) -> bytes | None:
        """The next message; None once there is none to come."""
        while not self._received:
            if self._closed.is_set():
                return None
            self._changed.clear()
            await self._changed.wait()
        if len(self._received) == self._limits.waiting_max and not self._closed.is_set():
            assert self._transport is not None
            self._transport.resume_reading()
        return self._received.popleft()

    def admit(self) -> None:
        """Take long messages from now on: the client is authenticated."""
        self._size_max = MESSAGE_SIZE_MAX

    def send(self, message: bytes) -> None:
        """One text message; nothing happens where there is no WebSocket any more."""
        self._say(TextMessage(data=message.decode()))

    def ping(self) -> None:
        self._say(Ping())

    async def drained(self) -> None:
        """Wait until the peer has taken most of what was sent, or is gone."""
        await self._writable.wait()

    def close(self, code: int, reason: str) -> None:
        """Say why, and end it once what was sent has left."""
        short = reason.encode()[:_REASON_SIZE_MAX].decode(errors="ignore")
        self._say(CloseConnection(code=code, reason=short))
        self.end()

    def end(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def wait_closed(self, timeout_s: float) -> None:
        """Wait until it is gone; a peer that does not take its bytes is not waited for."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._closed.wait()
        except TimeoutError:
            self.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not one
        self.address = transport.get_extra_info("peername", ("", 0))[:2]
        self.received_at = self._loop.time()
        self._owner.connected(self)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            return
        self.received_at = self._loop.time()
        was_full = len(self._received) >= self._limits.waiting_max
        try:
            if self._socket is None:
                self._read_head(data)
            else:
                self._read_messages(self._socket, data)
        except _MessageTooBigError:
            self._refuse(TOO_BIG, f"more than {self._size_max} bytes")
        except ProtocolError as error:
            self._refuse(UNSUPPORTED, str(error))
        except (WebSocketError, ValueError):
            self._refuse(BROKEN, "this is not WebSocket")
        is_full = len(self._received) >= self._limits.waiting_max
        if is_full and not was_full and not self._transport.is_closing():
            self._transport.pause_reading()
        self._changed.set()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()
        self._changed.set()
        self._writable.set()
        self._owner.lost(self)

    def _refuse(self, code: int, reason: str) -> None:
        self.is_broken = True
        self.close(code, reason)

    def _read_head(self, data: bytes) -> None:
        try:
            self._http.receive_data(data)
            request = self._http.next_event()
        except h11.RemoteProtocolError as error:
            self.is_broken = True
            self._answer(HttpResponse(error.error_status_hint, b""))
            return
        if not isinstance(request, h11.Request):
            return
        path = request.target.decode("ascii").partition("?")[0]
        if path == RESOURCE and _header(request, b"upgrade").lower() == b"websocket":
            self._upgrade(request)
        elif request.method != b"GET":
            self._answer(HttpResponse(405, b""))
        else:
            self._answer(self._page(path))

    def _upgrade(self, request: h11.Request) -> None:
        origin = _header(request, b"origin").decode("latin-1")
        if self._origins and origin not in self._origins:
            self._answer(HttpResponse(403, b'{"error":"not from that page"}'))
            return
        connection = WSConnection(ConnectionType.SERVER)
        try:
            connection.initiate_upgrade_connection(list(request.headers), request.target)
            for _ in connection.events():  # the request that we have just passed on
                self._write(connection.send(AcceptConnection()))
        except (WebSocketError, ValueError):
            self.is_broken = True
            self._answer(HttpResponse(400, b'{"error":"this is not a WebSocket upgrade"}'))
            return
        self._socket = connection
        self._read_messages(connection, self._http.trailing_data[0])

    def _read_messages(self, connection: WSConnection, data: bytes) -> None:
        connection.receive_data(data)
        for event in connection.events():
            self._handle(connection, event)

    def _handle(self, connection: WSConnection, event: Event) -> None:
        match event:
            case TextMessage():
                if event.data:  # else one could send nothing for ever
                    self._part.append(event.data)
                self._part_size += len(event.data)  # characters; bytes are counted at the end
                if self._part_size > self._size_max:
                    raise _MessageTooBigError
                if event.message_finished:
                    message = "".join(self._part).encode()
                    self._part, self._part_size = [], 0
                    if len(message) > self._size_max:
                        raise _MessageTooBigError
                    self._received.append(message)
            case Ping():
                self._write(connection.send(event.response()))
            case Pong():
                pass
            case CloseConnection():
                self.is_done = event.code in _GOODBYES
                if connection.state is ConnectionState.REMOTE_CLOSING:
                    self._write(connection.send(event.response()))
                self.end()
            case _:
                raise ProtocolError("text messages only")

    def _say(self, event: Event) -> None:
        if self._socket is None or self._socket.state is not ConnectionState.OPEN:
            return
        self._write(self._socket.send(event))

    def _answer(self, response: HttpResponse) -> None:
        headers = [
            ("content-type", response.content_type),
            ("content-length", str(len(response.body))),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("connection", "close"),
        ]
        head = h11.Response(status_code=response.status, headers=headers)
        for event in (head, h11.Data(data=response.body), h11.EndOfMessage()):
            self._write(self._http.send(event) or b"")
        self.end()

    def _write(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > self._limits.unsent_bytes_max:
            self.abort()


def _header(request: h11.Request, name: bytes) -> bytes:
    return next((value for key, value in request.headers if key == name), b"")
