"""A server for tests: reports its load, keeps seats, and misbehaves when told to."""

import asyncio
import contextlib
import time
from typing import Literal

from rookery.errors import DecodeError
from rookery.fleet.rendezvous.tickets import Ticket, TicketPurpose
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.wire.fleet import messages
from rookery.wire.fleet.telemetry import LoadReport
from rookery.wire.link.uri import LinkAddress
from tests.hub.device import Speaker, server_sender

Manner = Literal["kind", "refuses", "silent", "hangs up", "hangs up later"]


class Server(Speaker):
    """`async with` it, then `report`."""

    def __init__(
        self, link: LinkAddress, identity: Identity, code: str, manner: Manner = "kind"
    ) -> None:
        super().__init__(link, identity, server_sender(identity), "server", code)
        self.manner = manner
        self.reserved: dict[str, messages.ReserveMessage] = {}
        self.released: set[str] = set()
        self.tcp = ""
        self.ws = ""
        self.stream = 0  # as an earlier one says, or 40
        self.csids: list[int | None] = []  # what those who said something came with
        self._hub_lines: dict[str, SealedConnection] = {}
        self._server: asyncio.Server | None = None
        self._lines: set[SealedConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Server":
        await self.open()
        self._server = await self._loop.create_server(
            lambda: SealedConnection.accept(self.identity, owner=self), "127.0.0.1", 0
        )
        self.tcp = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
        assert self._server is not None
        self._server.close()
        for line in self._lines:
            line.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def report(self, seats_used: int = 0, seats_max: int = 8) -> None:
        """Send one and wait until the hub has it."""
        self.send(self.load(seats_used, seats_max))
        await self.delivered()

    def load(self, seats_used: int = 0, seats_max: int = 8) -> LoadReport:
        return LoadReport(
            t=int(time.time() * 1000),
            seats_max=seats_max,
            seats_used=seats_used,
            tcp=self.tcp,
            ws=self.ws or f"ws://{self.tcp}/rpc",
            key2a=self.identity.keys[0x2A],
            stream=self.stream,
        )

    def connected(self, line: SealedConnection) -> None:
        self._lines.add(line)
        task = self._loop.create_task(self._attend(line))
        self._tasks.add(task)

    def lost(self, line: SealedConnection) -> None:
        self._lines.discard(line)

    async def _attend(self, line: SealedConnection) -> None:
        with contextlib.suppress(DecodeError):
            while (tlv := await line.receive()) is not None:
                self.csids.append(line.csid)
                match messages.decode(tlv):
                    case messages.ReserveMessage() as reserve:
                        self._reserve(line, reserve)
                    case messages.ReleaseMessage(seat):
                        self.released.add(seat)
                    case messages.ArriveMessage(seat, ticket):
                        self._arrive(line, seat, ticket)

    def _reserve(self, line: SealedConnection, reserve: messages.ReserveMessage) -> None:
        assert line.peer == self.link.hashname
        self.reserved[reserve.seat] = reserve
        match self.manner:
            case "refuses":
                line.send(messages.encode(messages.RefusedMessage(reserve.seat, "full")))
            case "hangs up":
                line.abort()
            case "silent":
                pass
            case _:
                self._hub_lines[reserve.seat] = line
                line.send(messages.encode(messages.ReservedMessage(reserve.seat)))
                if self.manner == "hangs up later":
                    line.close()

    def _arrive(self, line: SealedConnection, seat: str, ticket: str) -> None:
        reserve = self.reserved[seat]
        assert line.peer is not None
        purpose = TicketPurpose("router", seat, self.identity.hashname, reserve.mac, line.peer)
        assert Ticket(purpose, reserve.router_ticket_hash).redeem(ticket)
        self._hub_lines[seat].send(messages.encode(messages.ArrivedMessage(seat)))
        line.send(messages.encode(messages.WelcomeMessage(seat, reserve.mac, reserve.router)))
