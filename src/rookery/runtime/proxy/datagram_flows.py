"""Datagram flows: from one local socket to many places, each with a socket of its own at an exit.

A flow begins with its first datagram and ends when nothing moved for a while. What comes while it
is being connected waits, but not much of it. When its exit is out of reach and there is a choice,
another one is searched for: nobody waits for an answer until that is back.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from rookery.errors import ChannelError, RookeryError
from rookery.link.channels.sock import SockAddress, SockProtocol
from rookery.mesh.proxy.opening import NetTarget
from rookery.runtime.proxy.connector import STRANDED_S, Connector, Proxy, has_choice
from rookery.runtime.proxy.datagrams import ProxyDatagrams
from rookery.runtime.proxy.idle_timeout import IdleTimeout

FLOWS_MAX = 256
WAITING_MAX = 32
IDLE_S = 60.0
FAILED_S = 1.0  # after all exits failed: datagrams there are dropped without another try

Key = TypeVar("Key", bound=Hashable)


class DatagramFlows(Generic[Key]):
    """`deliver` gets returning datagrams: the local client, the source, and the data."""

    def __init__(
        self,
        connector: Connector,
        proxy: Proxy,
        deliver: Callable[[Key, SockAddress, bytes], None],
        *,
        flows_max: int = FLOWS_MAX,
        idle_s: float = IDLE_S,
    ) -> None:
        self.dropped = 0
        self.last_error: RookeryError | None = None
        self._connector = connector
        self._proxy = proxy
        self._has_choice = has_choice(proxy)
        self._deliver = deliver
        self._flows_max = flows_max
        self._idle_s = idle_s
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Key, asyncio.Queue[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, key: Key, target: SockAddress, data: bytes) -> None:
        """Send, or drop and count, as UDP may."""
        waiting = self._waiting.get(key)
        if waiting is None:
            if len(self._waiting) >= self._flows_max:
                self.dropped += 1
                return
            waiting = self._waiting[key] = asyncio.Queue(WAITING_MAX)
            task = self._loop.create_task(self._run(key, target, waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._keep(waiting, data)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, waiting: asyncio.Queue[bytes], data: bytes) -> None:
        try:
            waiting.put_nowait(data)
        except asyncio.QueueFull:
            self.dropped += 1

    async def _run(self, key: Key, target: SockAddress, waiting: asyncio.Queue[bytes]) -> None:
        try:
            while await self._is_stranded(key, target, waiting):
                pass  # go on through another exit
        finally:
            del self._waiting[key]
            self.dropped += waiting.qsize()

    async def _is_stranded(
        self, key: Key, target: SockAddress, waiting: asyncio.Queue[bytes]
    ) -> bool:
        """Carry it through one exit; True if that is out of reach and more is to be sent."""
        try:
            datagrams = await self._connector.udp_connect(target.host, target.port, self._proxy)
        except RookeryError as error:
            self.last_error = error
            await asyncio.sleep(FAILED_S)
            return False
        try:
            is_stranded = await self._carry(key, datagrams, datagrams.reached or target, waiting)
        finally:
            await datagrams.close()
        if is_stranded and datagrams.exit is not None:
            wanted = NetTarget(SockProtocol.UDP, target.host, target.port)
            self._connector.out_of_reach(wanted, datagrams.exit)
        return is_stranded

    async def _carry(
        self,
        key: Key,
        datagrams: ProxyDatagrams,
        source: SockAddress,
        waiting: asyncio.Queue[bytes],
    ) -> bool:
        async def inward(idle: IdleTimeout) -> None:
            while (data := await datagrams.receive()) is not None:
                idle.moved()
                self._deliver(key, source, data)
            raise ChannelError("the exit has closed the socket")

        try:
            async with asyncio.timeout(self._idle_s) as timeout, asyncio.TaskGroup() as tasks:
                idle = IdleTimeout(timeout, self._idle_s)
                receiving = tasks.create_task(inward(idle))
                while True:
                    data = await waiting.get()
                    if self._has_choice and await _is_lost(datagrams):
                        self._keep(waiting, data)
                        receiving.cancel()
                        return True
                    idle.moved()
                    await datagrams.send(data)
        except TimeoutError:
            return False
        except ExceptionGroup as group:
            if group.split(RookeryError)[1] is not None:
                raise
            return False


async def _is_lost(datagrams: ProxyDatagrams) -> bool:
    if datagrams.is_stalled:
        await asyncio.sleep(STRANDED_S)
    return datagrams.is_stalled
