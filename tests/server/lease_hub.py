"""The hub's side of leases for tests: hears what servers hold, and answers when it is told to."""

import asyncio
from typing import Self

from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.wire.fleet.messages import Message, decode, encode
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from tests.patience import PATIENCE_S
from tests.server.world import HUB


class LeaseHub:
    """`async with LeaseHub() as hub:`"""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[Message] = asyncio.Queue()
        self.lines: list[SealedConnection] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: SealedConnection.accept(HUB, owner=self), "127.0.0.1", 0
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._listener is not None
        self._listener.close()
        for line in self.lines:
            line.abort()
        await asyncio.gather(*self._tasks)

    @property
    def address(self) -> HubAddress:
        assert self._listener is not None
        port = self._listener.sockets[0].getsockname()[1]
        paths = (net_path("udp", "127.0.0.1", port), net_path("tcp", "127.0.0.1", port))
        return HubAddress(LinkAddress(HUB.hashname, dict(HUB.keys), paths))

    async def next(self) -> Message:
        async with asyncio.timeout(PATIENCE_S):
            return await self.heard.get()

    def say(self, *messages: Message) -> None:
        """To whoever came last."""
        self.lines[-1].send(*map(encode, messages))

    def connected(self, line: SealedConnection) -> None:
        self.lines.append(line)
        self._tasks.add(asyncio.get_running_loop().create_task(self._listen(line)))

    def lost(self, line: SealedConnection) -> None:
        pass

    async def _listen(self, line: SealedConnection) -> None:
        while (tlv := await line.receive()) is not None:
            self.heard.put_nowait(decode(tlv))
