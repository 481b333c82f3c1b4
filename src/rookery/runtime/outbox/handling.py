"""Handles the requests of peers, one after the other for each peer.

A handler outlives the session that a request came by: when the peer comes back and asks again, the
answer is the one that was being made.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from rookery.errors import RookeryError
from rookery.outbox.intake import IncomingRequest, RequestOutcome
from rookery.outbox.peer import OutboxPeer
from rookery.wire.outbox.frames import PAYLOAD_SIZE_MAX, OutboxErrorCode

BATCH_MAX: Final = 256
TURNS_MAX: Final = 128

Handler = Callable[[IncomingRequest], Awaitable[bytes | None]]  # origin, payload, … to the reply
HandlerOf = Callable[[], Handler | None]  # called each time, as the program may change its handler


class RequestExecutor(Protocol):
    """Runs the handler: in memory, or in the transactions of a ledger."""

    async def handle(self, arrivals: deque[IncomingRequest]) -> Sequence[RequestOutcome]:
        """Handle some of them, in order, from the first; one outcome for each that was handled.

        There may be more when it is done than there were; they wait.
        """
        ...


class MemoryExecutor:
    """Calls the handler, and records nothing."""

    def __init__(self, handler: HandlerOf) -> None:
        self._handler = handler

    async def handle(self, arrivals: deque[IncomingRequest]) -> Sequence[RequestOutcome]:
        return [await outcome(self._handler(), arrivals[0])]


async def outcome(handler: Handler | None, arrival: IncomingRequest) -> RequestOutcome:
    """The handler's reply or error, as an outcome."""
    if handler is None:
        return UNHANDLED
    try:
        return replied(await handler(arrival))
    except RookeryError as error:
        return failed(str(error))
    except Exception as error:  # the edge between us and the handler's author
        context = {"message": "a handler of requests failed", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)
        return failed("the handler failed")


_DONE: Final = RequestOutcome()
UNHANDLED: Final = RequestOutcome(
    code=OutboxErrorCode.UNHANDLED, text="nobody handles requests there"
)


def replied(reply: bytes | None) -> RequestOutcome:
    if reply is not None and len(reply) > PAYLOAD_SIZE_MAX:
        return failed("the reply is too large")
    return RequestOutcome(reply) if reply else _DONE


def failed(text: str) -> RequestOutcome:
    return RequestOutcome(code=OutboxErrorCode.HANDLER_FAILED, text=text)


class RequestHandling:
    """The requests of all peers; every task started here ends with `close`."""

    def __init__(self, executor: RequestExecutor) -> None:
        self._executor = executor
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[OutboxPeer, deque[IncomingRequest]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def arrived(self, peer: OutboxPeer, arrivals: list[IncomingRequest]) -> None:
        waiting = self._waiting.get(peer)
        if waiting is not None:
            waiting += arrivals
            return
        self._waiting[peer] = deque(arrivals)
        task = self._loop.create_task(self._work(peer))
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    async def _work(self, peer: OutboxPeer) -> None:
        waiting, turns = self._waiting[peer], 0
        try:
            while waiting:
                if (turns := turns + 1) % TURNS_MAX == 0:
                    await asyncio.sleep(0)  # so that answers leave while others are made
                for made in await self._executor.handle(waiting):
                    peer.handled(waiting.popleft(), made)
        finally:
            del self._waiting[peer]

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "requests cannot be handled", "exception": error}
            self._loop.call_exception_handler(context)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
