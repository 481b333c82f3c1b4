"""HTTP over a link, the answering side: `thtp_handler` turns each channel into a Request."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from rookery.errors import ChannelError, DecodeError, ProtocolError, RemoteError, UsageError
from rookery.link.channels.thtp import RequestHead, ResponseHead
from rookery.runtime.endpoint.channels.interface import (
    ChannelInterface,
    Handler,
    linger,
    send_bytes,
)
from rookery.runtime.endpoint.channels.thtp_message import BODY_SIZE_MAX, ThtpMessage

HEAD_S_MAX = 30.0  # for a request's head to arrive

_log = logging.getLogger(__name__)


class ThtpRequest:
    """One request to answer: read its body, then start, write and finish the response."""

    def __init__(
        self, channel: ChannelInterface, head: RequestHead, body: ThtpMessage[RequestHead]
    ) -> None:
        self.head = head.from_peer(channel.link.hashname)
        self.started = False
        self.finished = False
        self._channel = channel
        self._body = body
        self._unsent = b""  # the head waits for the first bytes, to share their packet

    @property
    def hashname(self) -> str:
        """Who asks."""
        return self._channel.link.hashname

    async def piece(self) -> bytes | None:
        """The next bytes of the body, None at its end."""
        return await self._body.piece()

    async def read(self, size_max: int = BODY_SIZE_MAX) -> bytes:
        """The whole body; ProtocolError when it is longer than `size_max`."""
        return await self._body.read(size_max)

    def start(self, status: int, headers: Iterable[tuple[str, str]] = (), reason: str = "") -> None:
        """Begin the response; UsageError when HTTP cannot say that, or it has begun already."""
        if self.started:
            raise UsageError("the response was started twice")
        self._unsent = ResponseHead.of(status, headers, reason).serialize()
        self.started = True

    async def write(self, data: bytes) -> None:
        """Send some of the body now; for HEAD there is none."""
        self._check_writing()
        data, self._unsent = self._unsent + self._allowed(data), b""
        if data:
            await send_bytes(self._channel, data, end=False)

    async def finish(self, data: bytes = b"") -> None:
        """Send the rest of the body and end the response."""
        self._check_writing()
        self.finished = True
        data, self._unsent = self._unsent + self._allowed(data), b""
        await send_bytes(self._channel, data, end=True)

    async def respond(
        self, status: int, headers: Iterable[tuple[str, str]] = (), body: bytes = b""
    ) -> None:
        """The whole response at once."""
        self.start(status, [*headers, ("content-length", str(len(body)))])
        await self.finish(body)

    async def respond_text(
        self, status: int, text: str, headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """A short answer for people, mostly an error."""
        content_type = ("content-type", "text/plain; charset=utf-8")
        await self.respond(status, [*headers, content_type], f"{text}\n".encode())

    async def wait_disconnected(self) -> None:
        """Wait until nobody waits for the response any more."""
        await self._channel.wait_closed()

    def abort(self, text: str) -> None:
        """Give the response up; what was sent of it must not pass for all of it."""
        self.finished = True
        self._channel.fail(text)

    def _check_writing(self) -> None:
        if not self.started or self.finished:
            raise UsageError("the response is not open for writing")

    def _allowed(self, data: bytes) -> bytes:
        return b"" if self.head.method == "HEAD" else data


def thtp_handler(serve: Callable[[ThtpRequest], Awaitable[None]]) -> Handler:
    """A channel handler that gives each request to `serve`; its mistakes become status 500."""

    async def handle(channel: ChannelInterface) -> None:
        inflow = ThtpMessage(channel, RequestHead.parse, channel.opening[1])
        try:
            async with asyncio.timeout(HEAD_S_MAX):
                head = await inflow.head()
        except TimeoutError:
            await _refuse(channel, 408, "the request did not arrive")
        except (DecodeError, ProtocolError) as error:
            await _refuse(channel, 400, str(error))
        else:
            await _serve_one(ThtpRequest(channel, head, inflow), serve)
        try:
            await linger(channel)
        except ChannelError:
            return  # the response is out; a client that has it may hang up as it likes

    return handle


async def _refuse(channel: ChannelInterface, status: int, text: str) -> None:
    head = ResponseHead.of(status, [("content-type", "text/plain; charset=utf-8")])
    await send_bytes(channel, head.serialize() + f"{text}\n".encode(), end=True)


async def _serve_one(request: ThtpRequest, serve: Callable[[ThtpRequest], Awaitable[None]]) -> None:
    try:
        await serve(request)
    except ChannelError:
        raise  # nobody is left to answer
    except RemoteError as error:
        await _give_up(request, 400, str(error))
    except Exception:  # an application's mistake must not end more than its own request
        _log.exception("a thtp request to %s failed", request.head.path)
        await _give_up(request, 500, "internal error")
    else:
        await _give_up(request, 500, "no response")


async def _give_up(request: ThtpRequest, status: int, text: str) -> None:
    if request.finished:
        return
    if request.started:
        request.abort(text)
    else:
        await request.respond_text(status, text)
