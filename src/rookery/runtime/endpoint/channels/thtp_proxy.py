"""Pass `thtp` requests on to one HTTP server, usually on the same machine.

    peer ──thtp──▶ Request ──upload──▶ h11 ──TCP──▶ server
    peer ◀──thtp── Request ◀─download─ h11 ◀──TCP── server

Each request has its own connection, and only the configured origin is ever dialled.
"""

import asyncio
from typing import NamedTuple
from urllib.parse import urlsplit

import h11

from rookery.errors import ChannelError, UsageError
from rookery.runtime.endpoint.channels.interface import Handler
from rookery.runtime.endpoint.channels.thtp_server import ThtpRequest, thtp_handler

CONNECT_S_MAX = 5.0
HEAD_S_MAX = 60.0  # from the last bytes of the request to the head of the response
IDLE_S_MAX = 300.0  # between pieces of a response body
READ_SIZE = 1 << 16

# The server may believe these when they come from its own machine, so a peer must not set them.
_UNTRUSTED = frozenset({"forwarded", "x-real-ip", "host", "expect"})
_UNTRUSTED_PREFIX = "x-forwarded-"
_REFUSED_METHODS = frozenset({"CONNECT", "TRACE"})


class HttpOrigin(NamedTuple):
    """The one server that requests go to."""

    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> "HttpOrigin":
        """From a URL like http://127.0.0.1:8080; UsageError for anything more than an origin."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise UsageError(f"{url!r} is not a URL: {error}") from error
        if parts.scheme != "http" or not host:
            raise UsageError(f"{url!r} is not an http:// URL")
        if parts.path not in {"", "/"} or parts.query or parts.fragment or "@" in parts.netloc:
            raise UsageError(f"{url!r} has more than a host and a port")
        return cls(host, 80 if port is None else port)

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 else f"{host}:{self.port}"


def serve_proxy(url: str) -> Handler:
    """A channel handler that has `url`'s server answer; 502 and 504 when it does not."""
    origin = HttpOrigin.parse(url)

    async def serve(request: ThtpRequest) -> None:
        if request.head.method in _REFUSED_METHODS:
            await request.respond_text(405, "not through a proxy")
            return
        first = await request.piece()
        try:
            async with asyncio.timeout(CONNECT_S_MAX):
                reader, writer = await asyncio.open_connection(origin.host, origin.port)
        except TimeoutError:
            await request.respond_text(504, "the server does not answer")
        except OSError:
            await request.respond_text(502, "the server is not there")
        else:
            try:
                await _ForwardedRequest(origin, request, reader, writer).run(first)
            finally:
                writer.close()

    return thtp_handler(serve)


class _ForwardedRequest:
    """One request on its connection."""

    def __init__(
        self,
        origin: HttpOrigin,
        request: ThtpRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._origin = origin
        self._request = request
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT)
        self._patience: asyncio.Timeout | None = None

    async def run(self, first: bytes | None) -> None:
        failure: tuple[int, str] | None = None
        try:
            async with asyncio.TaskGroup() as group:
                upload = group.create_task(self._upload(first))
                await self._download()
                upload.cancel()
        except* TimeoutError:
            failure = 504, "the server took too long"
        except* h11.LocalProtocolError:
            failure = 400, "the request is not valid HTTP"
        except* (OSError, h11.RemoteProtocolError, UsageError):
            failure = 502, "the server's answer is not valid HTTP"
        except* ChannelError:
            pass  # nobody is left to answer
        if failure is not None and self._request.started:
            self._request.abort(failure[1])
        elif failure is not None:
            await self._request.respond_text(*failure)

    async def _upload(self, first: bytes | None) -> None:
        await self._send(self._head(has_body=first is not None))
        try:
            piece = first
            while piece is not None:
                await self._send(h11.Data(data=piece))
                self._extend_patience()
                piece = await self._request.piece()
            await self._send(h11.EndOfMessage())
        except OSError:
            pass  # a server may answer and hang up before it has read everything
        self._extend_patience()
        await self._request.wait_disconnected()
        raise ChannelError("the peer is gone")

    def _head(self, *, has_body: bool) -> h11.Request:
        head = self._request.head
        headers = [
            (name.encode(), value.encode("latin-1"))
            for name, value in head.headers
            if name not in _UNTRUSTED and not name.startswith(_UNTRUSTED_PREFIX)
        ]
        if has_body and not any(name == b"content-length" for name, _ in headers):
            headers.append((b"transfer-encoding", b"chunked"))
        headers += [(b"host", self._origin.authority.encode()), (b"connection", b"close")]
        return h11.Request(method=head.method, target=head.path, headers=headers)

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()

    async def _download(self) -> None:
        async with asyncio.timeout(HEAD_S_MAX) as self._patience:
            response = await self._event()
            while isinstance(response, h11.InformationalResponse):
                response = await self._event()
        self._patience = None
        if not isinstance(response, h11.Response):
            raise h11.RemoteProtocolError("the server sent no response")
        headers = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers
        ]
        self._request.start(response.status_code, headers, response.reason.decode("latin-1"))
        async with asyncio.timeout(None) as idle:
            while True:
                idle.reschedule(asyncio.get_running_loop().time() + IDLE_S_MAX)
                event = await self._event()
                idle.reschedule(None)  # a peer that reads slowly is not the server's fault
                if not isinstance(event, h11.Data):
                    break
                await self._request.write(bytes(event.data))
        await self._request.finish()

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(READ_SIZE))
        return event

    def _extend_patience(self) -> None:
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time() + HEAD_S_MAX)
