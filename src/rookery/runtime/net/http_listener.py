"""A small HTTP server for status pages: requests that fit in memory, answered at once.

    browser ─ TCP ─▶ h11 ─ HttpRequest ─▶ handler
    browser ◀─ TCP ─ h11 ◀─ HttpResponse ─┘

It has no passwords, so it guards against the pages of others in the same browser: a request must
name an address or the host it was told to listen on, and come from no other origin.
"""

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

import h11
import msgspec

from rookery.runtime.net.address import bound_socket

BODY_SIZE_MAX = 1 << 20
CONNECTIONS_MAX = 64
IDLE_S_MAX = 10.0  # for a whole request, and between two

_READ_SIZE = 1 << 16
_HEAD_SIZE_MAX = 1 << 14


class HttpRequest(msgspec.Struct, frozen=True):
    method: str
    path: str  # as in the request, percent signs and all, without the query
    body: bytes = b""


class HttpResponse(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    content_type: str = "application/json"


HttpHandler = Callable[[HttpRequest], HttpResponse]


class HttpListener:
    """One listening socket; make it with `bind`."""

    def __init__(self, handler: HttpHandler, host: str) -> None:
        self._handler = handler
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @classmethod
    async def bind(cls, handler: HttpHandler, host: str = "127.0.0.1", port: int = 0) -> Self:
        """Listen there; UsageError when that cannot be."""
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        listener = cls(handler, host)
        listener._server = await asyncio.start_server(listener._accepted, sock=sock)
        return listener

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= CONNECTIONS_MAX:
            writer.close()
            return
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _Conversation(self._handler, self._host, reader, writer).run()
        except (OSError, TimeoutError):
            pass  # gone, or too slow
        finally:
            writer.close()


class _Conversation:
    """The requests of one connection, one after the other."""

    def __init__(
        self,
        handler: HttpHandler,
        host: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._handler = handler
        self._host = host
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_SIZE_MAX)

    async def run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE_S_MAX):
                    response = await self._response()
            except h11.RemoteProtocolError as error:
                response = _refusal(error.error_status_hint, "this is not HTTP")
            if response is None:
                return
            async with asyncio.timeout(IDLE_S_MAX):
                await self._send(response)
            if self._http.states != {h11.SERVER: h11.DONE, h11.CLIENT: h11.DONE}:
                return
            self._http.start_next_cycle()

    async def _response(self) -> HttpResponse | None:
        head = await self._event()
        if not isinstance(head, h11.Request):
            return None
        body = bytearray()
        while isinstance(event := await self._event(), h11.Data):
            body += event.data
            if len(body) > BODY_SIZE_MAX:
                return _refusal(413, f"more than {BODY_SIZE_MAX} bytes")
        if not self._is_welcome(head):
            return _refusal(403, "asked for by another host or origin")
        path = head.target.decode("ascii").partition("?")[0]
        return self._handler(HttpRequest(head.method.decode("ascii"), path, bytes(body)))

    def _is_welcome(self, head: h11.Request) -> bool:
        headers = {name: value.decode("latin-1") for name, value in head.headers}
        authority = headers.get(b"host", "")
        try:
            host = urlsplit(f"//{authority}").hostname or ""
            origin = urlsplit(headers[b"origin"]).netloc if b"origin" in headers else authority
        except ValueError:
            return False
        # A page can make its own name stand for our address, but not our address for itself.
        is_ours = host in ("", "localhost", self._host) or _is_address(host)
        return is_ours and origin == authority

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._write(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._reader.read(_READ_SIZE))
        return event

    async def _send(self, response: HttpResponse) -> None:
        headers = [
            ("content-type", response.content_type),
            ("content-length", str(len(response.body))),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
        ]
        await self._write(h11.Response(status_code=response.status, headers=headers))
        await self._write(h11.Data(data=response.body))
        await self._write(h11.EndOfMessage())

    async def _write(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()


def _refusal(status: int, reason: str) -> HttpResponse:
    return HttpResponse(status, msgspec.json.encode({"error": reason}))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
