"""A browser's side of a WebSocket, as far as the tests need it."""

import asyncio
import json
import ssl
from typing import Any, Self

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from tests.patience import PATIENCE_S


class Browser:
    """Opens a WebSocket; `answers_pings` is what every real one does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._socket = WSConnection(ConnectionType.CLIENT)
        self._events = self._socket.events()
        self._text = ""
        self.pings = 0
        self.answers_pings = True

    @classmethod
    async def open(
        cls,
        place: tuple[str, int],
        path: str = "/rpc",
        origin: str = "https://hub.example",
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        browser = cls(*await asyncio.open_connection(*place, ssl=tls))
        headers = [(b"Origin", origin.encode())] if origin else []
        browser._write(Request(host="server.example", target=path, extra_headers=headers))
        return browser

    def _write(self, event: Any) -> None:  # noqa: ANN401
        self._writer.write(self._socket.send(event))

    async def event(self) -> Any:  # noqa: ANN401
        """The next thing that happens; None at the end of the connection."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self._socket.events():
                    if not isinstance(event, Ping):
                        return event
                    self.pings += 1
                    if self.answers_pings:
                        self._write(Pong(payload=event.payload))
                try:
                    data = await self._reader.read(1 << 16)
                except ConnectionError:
                    return None
                if not data:
                    return None
                self._socket.receive_data(data)

    async def accepted(self) -> int:
        """101, or the status it was refused with."""
        event = await self.event()
        if isinstance(event, AcceptConnection):
            return 101
        assert isinstance(event, RejectConnection)
        while not isinstance(rest := await self.event(), RejectData) or not rest.body_finished:
            pass
        return event.status_code

    def send(self, message: object, parts: int = 1, *, is_finished: bool = True) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        size = -(-len(text) // parts)
        for start in range(0, len(text), size):
            is_last = start + size >= len(text) and is_finished
            self._write(TextMessage(text[start : start + size], message_finished=is_last))

    def send_bytes(self, data: bytes) -> None:
        self._write(BytesMessage(data))

    def ping(self) -> None:
        self._write(Ping(b"there?"))

    def send_raw(self, data: bytes) -> None:
        self._writer.write(data)

    async def received(self) -> Any:  # noqa: ANN401
        """The next text message as JSON."""
        text = ""
        while isinstance(event := await self.event(), TextMessage):
            text += event.data
            if event.message_finished:
                return json.loads(text)
        raise AssertionError(event)

    async def closed(self) -> int | None:
        """The code it was closed with; None when there was none."""
        while (event := await self.event()) is not None:
            if isinstance(event, CloseConnection):
                return event.code
        return None

    def close(self) -> None:
        self._writer.close()

    def leave(self, code: int) -> None:
        self._write(CloseConnection(code=code))
