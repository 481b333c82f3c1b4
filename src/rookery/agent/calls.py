"""JSON-RPC on a line to a server: calls come in, some are carried out at a time, answers go out."""

import asyncio
from contextlib import suppress

from rookery.fleet.rpc import Dispatcher
from rookery.fleet.rpc_parts import RpcJoiner, split
from rookery.runtime.sealed_line import SealedLine
from rookery.wire import fleet_tags as tags
from rookery.wire.fleet_messages import Fault, decode
from rookery.wire.tlv import Tlv


class Calls:
    """Those of one visit; what still runs when the line ends is given up."""

    def __init__(self, dispatcher: Dispatcher, line: SealedLine, running_max: int) -> None:
        self._dispatcher = dispatcher
        self._line = line
        self._free = asyncio.Semaphore(running_max)
        self._running: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self.count = 0

    async def serve(self, idle_s: float) -> Fault | None:
        """Until the line ends or is idle; what the server said last, if it said why."""
        joiner = RpcJoiner()
        try:
            while (tlv := await self._next(idle_s)) is not None:
                if tlv.tag == tags.ERROR:
                    fault = decode(tlv)
                    assert isinstance(fault, Fault)
                    return fault
                if (message := joiner.add(tlv)) is not None:
                    await self._begin(message)
            return None
        finally:
            running = list(self._running)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _next(self, idle_s: float) -> Tlv | None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(idle_s):
                    return await self._line.receive()
            if not self._running:
                return None

    async def _begin(self, message: bytes) -> None:
        """While as many run as may, nothing more is read: the server must wait."""
        await self._free.acquire()
        self.count += 1
        task = self._loop.create_task(self._answer(message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _answer(self, message: bytes) -> None:
        try:
            answer = await self._dispatcher.dispatch(message)
            if answer is not None:
                self._line.send(*split(answer))
                await self._line.drained()  # or answers nobody takes would pile up
        finally:
            self._free.release()
