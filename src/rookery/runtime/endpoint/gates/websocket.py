"""WebSocket: one packet is one binary message, inside what looks like the web.

    dialling                         accepting
    GET resource, Upgrade  ───────▶  the resource is ours: 101, messages both ways
    GET /                  ───────▶  200 and our link JSON if we are to be discovered, else 404
    GET anything else      ───────▶  404

No extension is negotiated, so nothing a peer sends can inflate.
"""

from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

import h11
import msgspec
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    Request,
)
from wsproto.utilities import ProtocolError as WebSocketError

from rookery.errors import DecodeError
from rookery.runtime.endpoint.gates.framing import PACKET_SIZE_MAX
from rookery.wire.link.lob import JsonObject
from rookery.wire.octets import Octets

RESOURCE = "/"

_HEAD_SIZE_MAX = 8192

LinkJson = Callable[[], JsonObject | None]


class WebSocketFraming:
    """The packets inside an open WebSocket, and its control messages."""

    def __init__(self, connection: WSConnection) -> None:
        self._connection = connection
        self._message = bytearray()
        self._control = b""
        self.ready = False
        self.finished = False
        self.is_public = False

    # Not inherited: a class that is interpreted cannot be made from one that is compiled.
    def room(self) -> memoryview | None:
        return None

    def placed(self, count: int) -> list[bytes]:
        raise AssertionError("nothing was placed")

    def encode(self, packet: Octets) -> tuple[Octets, ...]:
        return (self._connection.send(BytesMessage(bytes(packet))),)

    def control(self) -> bytes:
        control, self._control = self._control, b""
        return control

    def _receive(self, data: bytes) -> list[bytes]:
        packets: list[bytes] = []
        try:
            self._connection.receive_data(data)
            for event in self._connection.events():
                self._handle(event, packets)
        except (WebSocketError, ValueError) as error:
            raise DecodeError("this is not WebSocket") from error
        return packets

    def _handle(self, event: Event, packets: list[bytes]) -> None:
        match event:
            case BytesMessage():
                self._message += event.data
                if len(self._message) > PACKET_SIZE_MAX:
                    raise DecodeError(f"a message of more than {PACKET_SIZE_MAX} bytes")
                if event.message_finished and self._message:
                    packets.append(bytes(self._message))
                    self._message.clear()
            case Ping():
                self._control += self._connection.send(event.response())
            case Pong():
                pass
            case AcceptConnection():
                self.ready = True
            case CloseConnection() if self._connection.state is ConnectionState.REMOTE_CLOSING:
                self._control += self._connection.send(event.response())
                self.finished = True
            case _:
                raise DecodeError("text, broken frames or a refused upgrade")


class DialledWebSocket(WebSocketFraming):
    """The side that asks for the upgrade."""

    def __init__(self, url: SplitResult) -> None:
        super().__init__(WSConnection(ConnectionType.CLIENT))
        target = (url.path or RESOURCE) + (f"?{url.query}" if url.query else "")
        request = Request(host=url.netloc.rpartition("@")[2], target=target)
        try:
            self._control = self._connection.send(request)
        except (WebSocketError, h11.ProtocolError, ValueError) as error:
            raise DecodeError("the URL cannot be asked for") from error

    def feed(self, data: Octets) -> list[bytes]:
        return self._receive(bytes(data))


class AcceptedWebSocket(WebSocketFraming):
    """The side that is asked: reads one HTTP request, then upgrades or answers and ends."""

    def __init__(self, resource: str, link_json: LinkJson) -> None:
        super().__init__(WSConnection(ConnectionType.SERVER))
        self._resource = resource
        self._link_json = link_json
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_SIZE_MAX)

    def feed(self, data: Octets) -> list[bytes]:
        if self.ready:
            return self._receive(bytes(data))
        if self.finished:
            return []
        try:
            self._http.receive_data(bytes(data))
            request = self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise DecodeError("this is not HTTP") from error
        if not isinstance(request, h11.Request):
            return []
        target = request.target.decode("ascii")
        if _wants_upgrade(request) and target == self._resource:
            return self._upgrade(request)
        link = self._link_json() if target == "/" else None
        self._answer(404 if link is None else 200, b"" if link is None else _json(link))
        return []

    def _upgrade(self, request: h11.Request) -> list[bytes]:
        try:
            self._connection.initiate_upgrade_connection(list(request.headers), request.target)
            for _ in self._connection.events():  # the request that we have just passed on
                self._control += self._connection.send(AcceptConnection())
        except (WebSocketError, ValueError) as error:
            raise DecodeError("this is not a WebSocket upgrade") from error
        self.ready = True
        return self._receive(self._http.trailing_data[0])

    def _answer(self, status: int, body: bytes) -> None:
        headers = [("content-length", str(len(body))), ("connection", "close")]
        if body:
            headers.append(("content-type", "application/json"))
        response = h11.Response(status_code=status, headers=headers)
        for event in (response, h11.Data(body), h11.EndOfMessage()):
            self._control += self._http.send(event) or b""
        self.finished = True


def _wants_upgrade(request: h11.Request) -> bool:
    return any(
        name == b"upgrade" and value.lower() == b"websocket" for name, value in request.headers
    )


_json = msgspec.json.Encoder().encode


def split_url(url: str) -> tuple[SplitResult, str, int]:
    """The URL in parts, and the host and port to dial, or DecodeError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise DecodeError("the URL makes no sense") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DecodeError("only http and https URLs with a host can be dialled")
    return parts, parts.hostname, port or (443 if parts.scheme == "https" else 80)
