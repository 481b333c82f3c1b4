"""HTTP over a link, the asking side.

    request()    RequestHead + body ──── channel ───▶
    Response     status, headers, body ◀─ channel ───

Both bodies stream at the same time, and a reader that stops reading stops the other side.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from types import TracebackType
from typing import Self

import msgspec

from rookery.errors import ChannelError, DecodeError
from rookery.link.channels.thtp import OPEN_SIZE_MAX, TYPE, RequestHead, ResponseHead
from rookery.runtime.endpoint.channels.interface import ChannelInterface, ChannelOpener, send_bytes
from rookery.runtime.endpoint.channels.thtp_message import BODY_SIZE_MAX, ThtpMessage


class _Upload:
    """A request body on its way, while the response may already be coming back."""

    def __init__(
        self, channel: ChannelInterface, parts: list[bytes], more: AsyncIterable[bytes] | None
    ) -> None:
        self.failure: Exception | None = None
        self._channel = channel
        self._task = asyncio.get_running_loop().create_task(self._run(parts, more))

    async def _run(self, parts: list[bytes], more: AsyncIterable[bytes] | None) -> None:
        try:
            for number, part in enumerate(parts, 1):
                last = more is None and number == len(parts)
                await send_bytes(self._channel, part, end=last)
            if more is None:
                return
            async for piece in more:
                if piece:
                    await send_bytes(self._channel, piece)
            await self._channel.end()
        except ChannelError:
            return  # whoever waits for the response hears of it
        except Exception as error:  # of the caller's iterator; it is raised where the caller waits
            self.failure = error
            self._channel.fail("the request body failed")

    @property
    def done(self) -> bool:
        return self._task.done()

    def cancel(self) -> None:
        self._task.cancel()


class ThtpResponse:
    """What came back. Read its body, or close it; `async with` does the latter."""

    def __init__(
        self,
        channel: ChannelInterface,
        head: ResponseHead,
        body: ThtpMessage[ResponseHead],
        upload: _Upload | None,
    ) -> None:
        self.head = head
        self._channel = channel
        self._body = body
        self._upload = upload

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def headers(self) -> Mapping[str, str]:
        """By lower-case name, repeated ones joined; `head.headers` has them one by one."""
        joined: dict[str, str] = {}
        for name, value in self.head.headers:
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        return joined

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces()

    async def _pieces(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._body.pieces():
                yield piece
        except ChannelError as error:
            raise _cause(self._upload, error) from error
        finally:
            self.close()

    async def read(self, size_max: int = BODY_SIZE_MAX) -> bytes:
        """The whole body; ProtocolError when it is longer than `size_max`."""
        try:
            return await self._body.read(size_max)
        except ChannelError as error:
            raise _cause(self._upload, error) from error
        finally:
            self.close()

    async def json(self) -> object:
        """The whole body as JSON; DecodeError when it is not."""
        body = await self.read()
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError("the body is not JSON") from error

    def close(self) -> None:
        """Give up what has not arrived yet."""
        uploading = self._upload is not None and not self._upload.done
        if self._upload is not None:
            self._upload.cancel()
        if uploading or not self._body.ended:
            self._channel.fail("closed")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _cause(upload: _Upload | None, error: ChannelError) -> Exception:
    return upload.failure if upload is not None and upload.failure is not None else error


async def request(
    link: ChannelOpener,
    method: str,
    path: str,
    headers: Mapping[str, str] | None = None,
    body: bytes | AsyncIterable[bytes] = b"",
) -> ThtpResponse:
    """Send one request and wait for the head of its response."""
    fields = dict(headers or {})
    whole = body if isinstance(body, bytes) else b""
    if whole and not any(name.lower() == "content-length" for name in fields):
        fields["content-length"] = str(len(whole))
    data = RequestHead.of(method, path, fields.items()).serialize()
    more = None if isinstance(body, bytes) else body
    fits = more is None and not whole and len(data) <= OPEN_SIZE_MAX
    channel = link.open(TYPE, None, data[:OPEN_SIZE_MAX], end=fits)
    # The JavaScript peer loses what of the body shares a packet with the end of the head.
    rest = [part for part in (data[OPEN_SIZE_MAX:], whole) if part]
    upload = None if fits else _Upload(channel, rest, more)
    inflow = ThtpMessage(channel, ResponseHead.parse)
    answered = False
    try:
        head = await inflow.head()
        answered = True
    except ChannelError as error:
        raise _cause(upload, error) from error
    finally:
        if not answered:
            if upload is not None:
                upload.cancel()
            channel.fail("closed")
    return ThtpResponse(channel, head, inflow, upload)
