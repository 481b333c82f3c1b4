"""A server of cores and sockets: welcomes a device, calls it, and dies when it is told to."""

import asyncio
from itertools import count
from types import TracebackType
from typing import Literal, Self

import msgspec

from rookery.fleet.rpc import message as rpc_message
from rookery.fleet.rpc.message import RpcAnswer
from rookery.fleet.rpc.parts import RpcJoiner, split
from rookery.identity.hashname import intermediate
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.wire.fleet.messages import (
    ArriveMessage,
    AttendMessage,
    DirectMessage,
    FaultCode,
    FaultMessage,
    ServerAddress,
    WelcomeMessage,
    decode,
    encode,
)
from rookery.wire.fleet.tlv import Tlv
from tests.agent.identities import identity
from tests.patience import PATIENCE_S

Death = Literal["connected", "arrived", "refuses", "welcomed", "never"]


class SmallServer:
    """`async with SmallServer() as server:`; one client at a time."""

    def __init__(self, dies: Death = "never", name: str = "server") -> None:
        self.identity = identity(name)
        self.dies = dies
        self.arrivals: list[ArriveMessage | AttendMessage] = []
        self.peers: list[str] = []
        self.line: asyncio.Future[SealedConnection] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ids = count(1)
        self._joiner = RpcJoiner()
        self._port = 0

    @property
    def address(self) -> ServerAddress:
        keys = self.identity.keys
        tcp = f"127.0.0.1:{self._port}"
        return ServerAddress(self.identity.hashname, tcp, keys[0x2A], intermediate(keys[0x40]))

    def direct(self, wish: int) -> DirectMessage:
        """What a hub would say to send a device here."""
        return DirectMessage(wish, "seat", self.address, "ticket")

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.line.done():
            self.line.result().close()
            await self.line.result().wait_closed()

    async def call(self, method: str, params: object = msgspec.UNSET) -> object:
        """The result of a device's method, or its error object."""
        line = await asyncio.wait_for(asyncio.shield(self.line), PATIENCE_S)
        line.send(*split(rpc_message.call(method, params, next(self._ids))))
        return await self.answer(line)

    async def answer(self, line: SealedConnection) -> object:
        message = None
        while message is None:
            tlv = await asyncio.wait_for(line.receive(), PATIENCE_S)
            assert tlv is not None, "the device has gone"
            message = self._joiner.add(tlv)
        (answer,) = rpc_message.parse(message).items
        assert isinstance(answer, RpcAnswer)
        return msgspec.json.decode(answer.error or answer.result or b"")

    async def end(self) -> None:
        """Close the client's connection, as when it has left."""
        self.line.result().close()
        await self.line.result().wait_closed()

    def _accept(self) -> SealedConnection:
        line = SealedConnection.accept(self.identity)
        task = asyncio.get_running_loop().create_task(self._serve(line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return line

    async def _serve(self, line: SealedConnection) -> None:
        self.peers.append(await line.authenticated())
        if self.dies == "connected":
            line.abort()
            return
        tlv = await line.receive()
        if tlv is None:
            return
        self.arrivals.append(self._first_message(tlv))
        if self.dies == "arrived":
            line.abort()
        elif self.dies == "refuses":
            line.send(encode(FaultMessage(FaultCode.NO_SEAT, "no such seat")))
            line.close()
        else:
            line.send(encode(WelcomeMessage("seat", bytes(6), self.peers[-1])))
            if self.dies == "welcomed":
                line.close()
            elif not self.line.done():
                self.line.set_result(line)

    def _first_message(self, tlv: Tlv) -> ArriveMessage | AttendMessage:
        message = decode(tlv)
        assert isinstance(message, ArriveMessage | AttendMessage)
        return message
