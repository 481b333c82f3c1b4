"""The tunnels of a node, as programs use them: open a service of a member, or serve one.

stream = await node.tunnels.open(hashname, "echo")
node.tunnels.serve("echo", handler)            handler(stream), in a task of its own
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Final

from rookery.errors import DeniedError, RookeryError
from rookery.mesh.node import Node
from rookery.mesh.tunnel.events import (
    StreamFinished,
    StreamOpened,
    StreamReadable,
    StreamReset,
    StreamStopped,
    StreamWritable,
    TunnelClosed,
    TunnelResumed,
    TunnelStalled,
)
from rookery.mesh.tunnel.explanation import TunnelExplanation
from rookery.mesh.tunnel.paths.scheduler import Mode
from rookery.mesh.tunnel.tunnel import Tunnel
from rookery.mesh.tunnel.tunnels import TunnelEvent
from rookery.runtime.tunnels.stream import TunnelStream

TunnelHandler = Callable[[TunnelStream], Awaitable[None]]

# Codes of streams that were given up, for the other side to tell apart.
NO_SUCH_SERVICE: Final = 1
HANDLER_FAILED: Final = 2
CLOSED: Final = 3

_REASONS: Final = {
    NO_SUCH_SERVICE: "nobody serves that there",
    HANDLER_FAILED: "the other side failed",
    CLOSED: "the other side has closed it",
}


class AsyncTunnels:
    """Streams by tunnel and number; every handler's task ends with `close`."""

    def __init__(self, core: Node, stir: Callable[[], None], now: Callable[[], float]) -> None:
        self._core = core
        self._stir = stir
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._handlers: dict[str, TunnelHandler] = {}
        self._streams: dict[tuple[Tunnel, int], TunnelStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self, service: str, handler: TunnelHandler) -> None:
        """Have `handler(stream)` run for every stream that a member opens to this service."""
        self._handlers[service] = handler

    async def open(
        self,
        hashname: str,
        service: str,
        meta: Mapping[str, object] | None = None,
        mode: Mode | None = None,
    ) -> TunnelStream:
        """A stream to a service of a member; it may be written to before anything is there.

        `mode` as for `set_mode`; None leaves it as it is.
        """
        now = self._now()
        self._core.reach(hashname, now)
        tunnel = self._core.tunnels.tunnel(hashname, now)
        if mode is not None:
            self.set_mode(hashname, mode)
        number = tunnel.open(service, dict(meta or {}))
        return self._stream(tunnel, number, hashname, meta or {})

    def set_mode(self, hashname: str, mode: Mode) -> None:
        """Choose how data to a member uses the paths there; all streams share one tunnel.

        What it sends to us is its own decision.
        """
        self._core.tunnels.set_mode(hashname, mode)
        self._stir()

    def explain(self, hashname: str) -> list[TunnelExplanation]:
        """Our tunnel with a member, two if both sides opened one: paths, counts, reasons."""
        return self._core.tunnels.explain(hashname)

    async def create_connection(
        self,
        factory: Callable[[], asyncio.Protocol],
        hashname: str,
        service: str,
        meta: Mapping[str, object] | None = None,
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """As the event loop's own, with a member's service in place of host and port."""
        from rookery.runtime.tunnels.transport import attach  # few programs need it

        return attach(await self.open(hashname, service, meta), factory)

    def serve_protocol(self, service: str, factory: Callable[[], asyncio.Protocol]) -> None:
        """Have a protocol of its own run over every stream to this service."""
        from rookery.runtime.tunnels.transport import attach

        async def run(stream: TunnelStream) -> None:
            transport, _ = attach(stream, factory)
            await transport.closed

        self.serve(service, run)

    def happened(self) -> None:
        """Deliver the events of the core."""
        for notice in self._core.tunnels.take():
            self._happened(notice)

    async def close(self) -> None:
        self._core.tunnels.close(self._now())
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _happened(self, notice: TunnelEvent) -> None:
        tunnel, event = notice.tunnel, notice.event
        if type(event) is StreamReadable:  # most are, and a type check is faster than `match`
            if (stream := self._streams.get((tunnel, event.stream))) is not None:
                stream.readable()
            return
        match event:
            case StreamOpened(number, service, meta):
                opened = self._stream(tunnel, number, notice.peer, meta)
                self._spawn(self._handle(opened, service))
            case StreamFinished(number):
                if (stream := self._streams.get((tunnel, number))) is not None:
                    stream.readable()
            case StreamWritable(number):
                if (stream := self._streams.get((tunnel, number))) is not None:
                    stream.writable()
            case StreamStopped(number, code):
                if (stream := self._streams.get((tunnel, number))) is not None:
                    stream.stopped(_REASONS.get(code, f"the other side reads no more, code {code}"))
            case StreamReset(number, code):
                if (stream := self._streams.pop((tunnel, number), None)) is not None:
                    stream.failed(_REASONS.get(code, f"given up by the other side, code {code}"))
            case TunnelClosed(_, reason):
                self._closed(tunnel, reason or "the tunnel is closed")
            case TunnelStalled() | TunnelResumed():
                pass  # programs just wait
            case _:
                pass

    def _stream(
        self, tunnel: Tunnel, number: int, hashname: str, meta: Mapping[str, object]
    ) -> TunnelStream:
        stream = self._streams[tunnel, number] = TunnelStream(
            tunnel,
            number,
            hashname,
            meta,
            used=partial(self._used, hashname, tunnel),
            over=partial(self._streams.pop, (tunnel, number), None),
            now=self._now,
        )
        self._used(hashname, tunnel)
        return stream

    def _used(self, hashname: str, tunnel: Tunnel) -> None:
        self._core.tunnels.touched(hashname, tunnel)
        self._stir()

    def _closed(self, tunnel: Tunnel, reason: str) -> None:
        for key in [key for key in self._streams if key[0] is tunnel]:
            self._streams.pop(key).failed(reason)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    async def _handle(self, stream: TunnelStream, service: str) -> None:
        """Run the handler and then end our half; what it raises aborts the stream."""
        handler = self._handlers.get(service)
        try:
            if handler is None:
                raise DeniedError(f"nobody serves {service!r}")
            await handler(stream)
            await stream.finish()
            stream.stop(CLOSED)
        except DeniedError:
            stream.abort(NO_SUCH_SERVICE)
        except RookeryError:
            stream.abort(HANDLER_FAILED)
        except asyncio.CancelledError:
            stream.abort(CLOSED)
            raise
        except Exception:  # code of the handler's author may raise anything
            stream.abort(HANDLER_FAILED)
            raise

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "a handler of a tunnel failed", "exception": error}
            self._loop.call_exception_handler(context)
