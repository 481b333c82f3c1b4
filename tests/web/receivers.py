"""Receivers of alerts: a small HTTP server and a small mail server, on loopback."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Posted:
    """One request."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HttpReceiver:
    """Answers each request with the next status; the last one goes for all that follow."""

    url: str = ""
    statuses: list[int] = field(default_factory=lambda: [204])
    posted: list[Posted] = field(default_factory=list)
    is_mute: bool = False  # takes the request, and says nothing
    answer: bytes = b""  # instead of a status

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await reader.readexactly(int(headers["content-length"]))
            original = dict(line.split(": ", 1) for line in head[1:] if line)
            self.posted.append(Posted(head[0], original, body))
            if self.is_mute:
                await reader.read()
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
            location = b"Location: /elsewhere\r\n"
            status_line = b"HTTP/1.1 %d Said\r\n%sContent-Length: 0\r\n\r\n" % (status, location)
            writer.write(self.answer or status_line)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def http_receiver(context: ssl.SSLContext | None = None) -> AsyncIterator[HttpReceiver]:
    """Until left."""
    receiver = HttpReceiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=context)
    scheme = "http" if context is None else "https"
    receiver.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?room=1"
    async with server:
        yield receiver


@dataclass
class Letter:
    """One message, and how it came."""

    sender: str
    to: list[str]
    data: str
    is_sealed: bool
    login: tuple[str, str] | None


@dataclass
class MailReceiver:
    """Speaks as much SMTP as it takes."""

    context: ssl.SSLContext | None = None  # None: no STARTTLS
    port: int = 0
    letters: list[Letter] = field(default_factory=list)
    refusal: str = ""  # of what a sender says with DATA

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _Talk(self, reader, writer).run()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()


class _Talk:
    def __init__(
        self, server: MailReceiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer
        self.is_sealed = False
        self.login: tuple[str, str] | None = None
        self.sender = ""
        self.to: list[str] = []

    async def run(self) -> None:
        self.say("220 test")
        while line := (await self.reader.readline()).decode().rstrip("\r\n"):
            word = line.partition(" ")[0].upper()
            match word:
                case "EHLO":
                    self.greet()
                case "STARTTLS":
                    self.say("220 go on")
                    assert self.server.context is not None
                    await self.writer.start_tls(self.server.context)
                    self.is_sealed = True
                case "AUTH":
                    _, login, password = base64.b64decode(line.split(" ")[2]).split(b"\0")
                    self.login = (login.decode(), password.decode())
                    self.say("235 welcome" if self.login[1] == "hush" else "535 no")
                case "MAIL":
                    self.sender = line.partition("<")[2].partition(">")[0]
                    self.say("250 ok")
                case "RCPT":
                    self.to.append(line.partition("<")[2].partition(">")[0])
                    self.say("250 ok")
                case "DATA":
                    await self.take()
                case "QUIT":
                    self.say("221 bye")
                    return
                case _:
                    self.say("250 ok")

    def greet(self) -> None:
        if self.server.context is not None and not self.is_sealed:
            self.say("250-test\r\n250 STARTTLS")
        else:
            self.say("250-test\r\n250 AUTH PLAIN")

    async def take(self) -> None:
        if self.server.refusal:
            self.say(self.server.refusal)
            return
        self.say("354 go on")
        data = (await self.reader.readuntil(b"\r\n.\r\n")).decode()
        letter = Letter(self.sender, self.to, data, self.is_sealed, self.login)
        self.server.letters.append(letter)
        self.say("250 taken")

    def say(self, text: str) -> None:
        self.writer.write(f"{text}\r\n".encode())


@asynccontextmanager
async def mail_receiver(context: ssl.SSLContext | None = None) -> AsyncIterator[MailReceiver]:
    """Until left."""
    receiver = MailReceiver(context)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver
