"""The door: one TCP listener for the hub, for routers and for clients.

    first message   from whom                then
    RESERVE         the hub, by hashname     RESERVE and RELEASE, and what became of the seats
    ARRIVE          the seat's router        WELCOME, JSON-RPC
    ATTEND          whoever has the ticket   WELCOME, JSON-RPC

Everybody else is told ERROR and closed. A client that says ERROR itself is done with its seat; one
that is merely lost may come back. Who proves no identity and takes no seat in time is
closed as well, and so is a client or hub that gives no sign of life for long.
"""

import asyncio

from rookery.errors import (
    AuthenticationError,
    CongestionError,
    DeniedError,
    ProtocolError,
    RookeryError,
    UnreachableError,
)
from rookery.fleet.rpc_parts import RpcJoiner, split
from rookery.identity.identity import Identity
from rookery.runtime.guests import Guests
from rookery.runtime.listener import CLOSE_S, Listener
from rookery.runtime.sealed_line import LineLimits, SealedLine
from rookery.server.sessions import Chair, Sessions
from rookery.server.settings import DoorLimits
from rookery.server.table import Tell
from rookery.wire.fleet_messages import (
    Arrive,
    Attend,
    Fault,
    FaultCode,
    Message,
    Refused,
    Release,
    Reserve,
    decode,
    encode,
)
from rookery.wire.fleet_tags import ERROR
from rookery.wire.tlv import Tlv

HUB_EXPECTED_S = 86_400.0  # since it came last


class LinePeer:
    """A router or client at the other end of a sealed line."""

    def __init__(self, line: SealedLine) -> None:
        self._line = line

    def send(self, message: bytes) -> None:
        self._line.send(*split(message))

    async def drained(self) -> None:
        await self._line.drained()

    def dismiss(self, code: FaultCode, text: str) -> None:
        self._line.send(encode(Fault(code, text)))
        self._line.close()

    def abort(self) -> None:
        self._line.abort()


class Door:
    """Lets in who may come, and hands them to the sessions."""

    def __init__(
        self,
        identity: Identity,
        hub: str,
        sessions: Sessions,
        guests: Guests,
        limits: DoorLimits,
    ) -> None:
        self._identity = identity
        self._hub = hub
        self._sessions = sessions
        self._guests = guests
        self._limits = limits
        self._line_limits = LineLimits(
            waiting_max=limits.waiting_max, unsent_bytes_max=limits.unsent_bytes_max
        )
        self._listener = Listener(guests, self._attend, _dismiss)

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Accept connections on the address returned; UsageError if that cannot be."""
        return await self._listener.listen(host, port, self._accepted)

    async def close(self) -> None:
        """Tell everybody, and close."""
        await self._listener.close()

    def _accepted(self) -> SealedLine:
        return SealedLine.accept(self._identity, self._line_limits, self._listener)

    async def _attend(self, line: SealedLine) -> None:
        try:
            await self._serve(line)
            if line.error is not None:
                self._guests.tally["rubbish"] += 1
        except TimeoutError:
            self._guests.tally["slow"] += 1
        except UnreachableError:  # before it proved anything
            self._guests.tally["gone" if line.error is None else "rubbish"] += 1
        except RookeryError as error:
            code = _code(error)
            self._guests.tally[code.name.lower()] += 1
            line.send(encode(Fault(code, str(error))))
        finally:
            line.close()
            await line.wait_closed(CLOSE_S)

    async def _serve(self, line: SealedLine) -> None:
        async with asyncio.timeout(self._limits.authenticate_s):
            peer = await line.authenticated()
            tlv = await line.receive()
        if tlv is None:
            return
        match decode(tlv):
            case Reserve() | Release() as order:
                if peer != self._hub:
                    raise DeniedError("you are not the hub of this server")
                await self._serve_hub(line, order)
            case Arrive() as arrive:
                chair = self._sessions.arrive(arrive, peer, LinePeer(line))
                await self._serve_peer(line, chair, idle_s=None)
            case Attend() as attend:
                chair = self._sessions.attend(attend, LinePeer(line))
                await self._serve_peer(line, chair, idle_s=self._limits.idle_s)
            case other:
                raise ProtocolError(f"nobody begins with {type(other).__name__} here")

    def _expect(self, addresses: list[str], seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        for address in addresses:
            self._guests.expect(address, seconds, now)

    async def _serve_hub(self, line: SealedLine, first: Reserve | Release) -> None:
        self._expect([line.address[0]], HUB_EXPECTED_S)

        def tell(message: Message) -> None:
            line.send(encode(message))

        try:
            self._obey(first, tell)
            while (tlv := await _next(line, self._limits.idle_s)) is not None:
                self._obey(decode(tlv), tell)
        finally:
            self._sessions.hub_gone(tell)

    def _obey(self, order: Message, tell: Tell) -> None:
        match order:
            case Reserve():
                self._expect(order.expected, order.seconds + self._limits.authenticate_s)
                try:
                    self._sessions.reserve(order, tell)
                except (CongestionError, ProtocolError) as error:
                    tell(Refused(order.seat, str(error)))
            case Release():
                self._sessions.release(order.seat)
            case _:
                raise ProtocolError(f"a hub does not say {type(order).__name__}")

    async def _serve_peer(self, line: SealedLine, chair: Chair, idle_s: float | None) -> None:
        joiner = RpcJoiner()
        try:
            line.send(encode(chair.welcome))
            while (tlv := await _next(line, idle_s)) is not None:
                if tlv.tag == ERROR:
                    chair.finish()
                    return
                message = joiner.add(tlv)
                if message is not None:
                    chair.receive(message)
                    await chair.drained()
        finally:
            chair.leave()


def _dismiss(line: SealedLine) -> None:
    line.send(encode(Fault(FaultCode.CLOSING, "the server stops")))
    line.close()


async def _next(line: SealedLine, idle_s: float | None) -> Tlv | None:
    """What comes next; TimeoutError when not even a sign of life does."""
    while idle_s is not None:
        until = line.heard_at + idle_s
        try:
            async with asyncio.timeout_at(until):
                return await line.receive()
        except TimeoutError:
            if line.heard_at + idle_s <= until:
                raise
    return await line.receive()


def _code(error: RookeryError) -> FaultCode:
    match error:
        case AuthenticationError():
            return FaultCode.NO_SEAT
        case DeniedError():
            return FaultCode.DENIED
        case _:
            return FaultCode.PROTOCOL
