"""A server's listeners on loopback, and a hub, devices and clients made of the cores."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rookery.errors import UnreachableError
from rookery.fleet.rendezvous import tickets
from rookery.fleet.rendezvous.seats import Seats
from rookery.fleet.rendezvous.tickets import TicketPurpose
from rookery.fleet.rpc.dispatcher import Dispatcher
from rookery.fleet.rpc.parts import RpcJoiner, split
from rookery.fleet.rpc.relay import RelayedCall, RelayLimits
from rookery.identity.cipher_sets import cipher_set
from rookery.identity.identity import Identity
from rookery.runtime.fleet.admission import ConnectionAdmission
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.runtime.net.http_listener import HttpResponse
from rookery.server.seat_sessions import EndedSession, SeatSessions
from rookery.server.settings import ServerListenerLimits
from rookery.server.tcp_listener import ServerListener
from rookery.server.web_listener import WebListener
from rookery.wire.fleet.messages import (
    ArriveMessage,
    AttendMessage,
    Message,
    ReserveMessage,
    WelcomeMessage,
    decode,
    encode,
)
from tests.fleet.identities import ACCEPTOR, DIALLER
from tests.patience import PATIENCE_S

MAC = bytes.fromhex("02fc00000001")


def identity() -> Identity:
    """Somebody new; only the quick half of the keys is made for it."""
    return Identity({0x40: cipher_set(0x40).generate(os.urandom), 0x2A: DIALLER.pairs[0x2A]})


HUB, DEVICE, CLIENT, STRANGER = (identity() for _ in range(4))


class End:
    """One end of a connection to the listener."""

    def __init__(self, line: SealedConnection) -> None:
        self.line = line
        self._joiner = RpcJoiner()

    def say(self, *messages: Message) -> None:
        self.line.send(*map(encode, messages))

    async def heard(self) -> Message | None:
        """The next message; None when the server has closed."""
        async with asyncio.timeout(PATIENCE_S):
            tlv = await self.line.receive()
        return None if tlv is None else decode(tlv)

    def send(self, message: object) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.line.send(*split(data))

    async def received(self) -> Any:  # noqa: ANN401
        """The next JSON-RPC message."""
        async with asyncio.timeout(PATIENCE_S):
            while (tlv := await self.line.receive()) is not None:
                if (message := self._joiner.add(tlv)) is not None:
                    return json.loads(message)
        raise UnreachableError("closed")

    async def asked(self, message: object) -> Any:  # noqa: ANN401
        self.send(message)
        return await self.received()

    async def gone(self) -> bool:
        return await self.heard() is None


@dataclass(frozen=True)
class Plan:
    """A seat, and what opens it."""

    reserve: ReserveMessage
    device_ticket: str
    client_ticket: str

    @property
    def arrive(self) -> ArriveMessage:
        return ArriveMessage(self.reserve.seat, self.device_ticket)

    @property
    def attend(self) -> AttendMessage:
        return AttendMessage(self.reserve.seat, self.client_ticket)


def plan(seat: str = "seat-1", device: Identity = DEVICE, seconds: int = 30) -> Plan:
    ours, theirs = tickets.make(os.urandom), tickets.make(os.urandom)
    to_device = TicketPurpose("router", seat, ACCEPTOR.hashname, MAC, device.hashname)
    to_client = TicketPurpose("client", seat, ACCEPTOR.hashname, MAC, "ann")
    reserve = ReserveMessage(
        seat,
        MAC,
        device.hashname,
        "ann",
        tickets.digest(ours, to_device),
        tickets.digest(theirs, to_client),
        seconds,
    )
    return Plan(reserve, ours, theirs)


class World:
    """Listeners, sessions, and what was audited."""

    def __init__(
        self,
        listener: ServerListenerLimits,
        relay: RelayLimits,
        seats_max: int,
        linger_s: float,
        lease_s: float,
    ) -> None:
        self.audits: list[tuple[str, RelayedCall]] = []
        self.ended: list[EndedSession] = []
        self.admission = ConnectionAdmission(listener, asyncio.get_running_loop().time())
        seats = Seats(ACCEPTOR.hashname, seats_max, os.urandom, linger_s, lease_s)
        self.sessions = SeatSessions(
            seats, self._audited, self.ended.append, relay, listener.slow_s
        )
        self.listener = ServerListener(
            ACCEPTOR, HUB.hashname, self.sessions, self.admission, listener
        )
        self.web = WebListener(
            self.sessions, self.admission, _page, listener, ("https://hub.example",)
        )
        self.tcp: tuple[str, int] = ("", 0)
        self.http: tuple[str, int] = ("", 0)
        self._ends: list[End] = []

    def _audited(self, seat: str, audit: RelayedCall) -> None:
        self.audits.append((seat, audit))

    async def dial(self, who: Identity, limits: SealedConnectionLimits | None = None) -> End:
        line = await SealedConnection.dial(
            who,
            ACCEPTOR.hashname,
            ACCEPTOR.keys,
            *self.tcp,
            timeout_s=PATIENCE_S,
            limits=limits,
        )
        self._ends.append(End(line))
        return self._ends[-1]

    async def reserved(self, planned: Plan) -> End:
        """The hub, having reserved that seat."""
        hub = await self.dial(HUB)
        hub.say(planned.reserve)
        assert type(await hub.heard()).__name__ == "ReservedMessage"
        return hub

    async def arrived(self, planned: Plan, who: Identity = DEVICE) -> End:
        device = await self.dial(who)
        device.say(planned.arrive)
        assert isinstance(await device.heard(), WelcomeMessage)
        return device

    async def attended(self, planned: Plan, limits: SealedConnectionLimits | None = None) -> End:
        client = await self.dial(CLIENT, limits)
        client.say(planned.attend)
        assert isinstance(await client.heard(), WelcomeMessage)
        return client

    async def met(self, planned: Plan) -> tuple[End, End, End]:
        """Hub, device and client, all in their places."""
        hub = await self.reserved(planned)
        device = await self.arrived(planned)
        assert type(await hub.heard()).__name__ == "ArrivedMessage"
        return hub, device, await self.attended(planned)

    async def close(self) -> None:
        self.sessions.close()
        await asyncio.gather(self.listener.close(), self.web.close())
        for end in self._ends:
            end.line.abort()
        for end in self._ends:
            await end.line.wait_closed()
        assert self.admission.count == 0


@asynccontextmanager
async def world(
    listener: ServerListenerLimits | None = None,
    relay: RelayLimits | None = None,
    seats_max: int = 4,
    linger_s: float = 60.0,
    lease_s: float = 60.0,
) -> AsyncIterator[World]:
    made = World(
        listener or ServerListenerLimits(), relay or RelayLimits(), seats_max, linger_s, lease_s
    )
    made.tcp = await made.listener.listen("127.0.0.1", 0)
    made.http = await made.web.listen("127.0.0.1", 0)
    try:
        yield made
    finally:
        await made.close()


async def serve(device: End, dispatcher: Dispatcher) -> None:
    """Be a device: answer what comes until the connection ends."""
    joiner = RpcJoiner()
    while (tlv := await device.line.receive()) is not None:
        if (message := joiner.add(tlv)) is not None:
            answer = await dispatcher.dispatch(message)
            if answer is not None:
                device.line.send(*split(answer))
                await device.line.drained()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (nobody tells us)
            await asyncio.sleep(0.005)


def _page(path: str) -> HttpResponse:
    return HttpResponse(200 if path == "/page" else 404, path.encode(), "text/plain")
