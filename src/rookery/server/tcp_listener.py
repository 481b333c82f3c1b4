"""Server listener: one TCP port for the hub, for devices and for clients.

    first message   from                     then
    RESERVE         the hub, by hashname     RESERVE and RELEASE, and what became of the seats
    ARRIVE          the seat's device        WELCOME, JSON-RPC
    ATTEND          a holder of the ticket   WELCOME, JSON-RPC

Other connections get ERROR and are closed. A client that sends ERROR itself is done with its seat;
one whose connection is lost may come back. Connections that do not authenticate and take a seat in
time are closed, and so are clients and hubs without a sign of life for long.
"""

import asyncio
from collections.abc import Collection

from rookery.errors import (
    AuthenticationError,
    CongestionError,
    DeniedError,
    ProtocolError,
    RookeryError,
    UnreachableError,
)
from rookery.fleet.rpc.parts import RpcJoiner, split
from rookery.identity.identity import Identity
from rookery.runtime.fleet.admission import ConnectionAdmission
from rookery.runtime.fleet.listener import CLOSE_S, ConnectionListener
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.server.seat_sessions import PeerSession, SeatSessions, Tell
from rookery.server.settings import ServerListenerLimits
from rookery.wire.fleet.messages import (
    ArriveMessage,
    AttendMessage,
    FaultCode,
    FaultMessage,
    Message,
    RefusedMessage,
    ReleaseMessage,
    ReserveMessage,
    decode,
    encode,
)
from rookery.wire.fleet.tags import ERROR
from rookery.wire.fleet.tlv import Tlv

HUB_EXPECTED_S = 86_400.0  # after its last connection


class SealedPeer:
    """A device or client at the other end of a sealed connection."""

    def __init__(self, connection: SealedConnection) -> None:
        self._connection = connection

    def send(self, message: bytes) -> None:
        self._connection.send(*split(message))

    async def drained(self) -> None:
        await self._connection.drained()

    def dismiss(self, code: FaultCode, text: str) -> None:
        self._connection.send(encode(FaultMessage(code, text)))
        self._connection.close()

    def abort(self) -> None:
        self._connection.abort()


class ServerListener:
    """Admits connections and passes them to the sessions."""

    def __init__(
        self,
        identity: Identity,
        hub: str,
        sessions: SeatSessions,
        admission: ConnectionAdmission,
        limits: ServerListenerLimits,
        insisted: Collection[str] = (),
    ) -> None:
        """`insisted` are the hashnames that come with no less than cipher set 40."""
        self._identity = identity
        self._insisted = insisted
        self._hub = hub
        self._sessions = sessions
        self._admission = admission
        self._limits = limits
        self._connection_limits = SealedConnectionLimits(
            waiting_max=limits.waiting_max, unsent_bytes_max=limits.unsent_bytes_max
        )
        self._listener = ConnectionListener(admission, self._handle, _dismiss)

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Accept connections on the address returned; UsageError if that cannot be."""
        return await self._listener.listen(host, port, self._accepted)

    async def close(self) -> None:
        """Close the listener and its connections."""
        await self._listener.close()

    def _accepted(self) -> SealedConnection:
        return SealedConnection.accept(
            self._identity, self._connection_limits, self._listener, self._insisted
        )

    async def _handle(self, connection: SealedConnection) -> None:
        try:
            await self._serve(connection)
            if connection.error is not None:
                self._admission.tally["rubbish"] += 1
        except TimeoutError:
            self._admission.tally["slow"] += 1
        except UnreachableError:  # before it proved anything
            self._admission.tally["gone" if connection.error is None else "rubbish"] += 1
        except RookeryError as error:
            code = _code(error)
            self._admission.tally[code.name.lower()] += 1
            connection.send(encode(FaultMessage(code, str(error))))
        finally:
            connection.close()
            await connection.wait_closed(CLOSE_S)

    async def _serve(self, connection: SealedConnection) -> None:
        async with asyncio.timeout(self._limits.authenticate_s):
            peer = await connection.authenticated()
            tlv = await connection.receive()
        if tlv is None:
            return
        match decode(tlv):
            case ReserveMessage() | ReleaseMessage() as order:
                if peer != self._hub:
                    raise DeniedError("you are not the hub of this server")
                await self._serve_hub(connection, order)
            case ArriveMessage() as request:
                session = self._sessions.seat_device(request, peer, SealedPeer(connection))
                await self._serve_peer(connection, session, idle_s=None)
            case AttendMessage() as request:
                session = self._sessions.seat_client(request, SealedPeer(connection))
                await self._serve_peer(connection, session, idle_s=self._limits.idle_s)
            case other:
                raise ProtocolError(f"no connection begins with {type(other).__name__} here")

    def _expect(self, addresses: list[str], seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        for address in addresses:
            self._admission.expect(address, seconds, now)

    async def _serve_hub(
        self, connection: SealedConnection, first: ReserveMessage | ReleaseMessage
    ) -> None:
        self._expect([connection.address[0]], HUB_EXPECTED_S)

        def tell(message: Message) -> None:
            connection.send(encode(message))

        try:
            self._obey(first, tell)
            while (tlv := await _next(connection, self._limits.idle_s)) is not None:
                self._obey(decode(tlv), tell)
        finally:
            self._sessions.hub_gone(tell)

    def _obey(self, order: Message, tell: Tell) -> None:
        match order:
            case ReserveMessage():
                self._expect(order.expected, order.seconds + self._limits.authenticate_s)
                try:
                    self._sessions.reserve(order, tell)
                except (CongestionError, ProtocolError) as error:
                    tell(RefusedMessage(order.seat, str(error)))
            case ReleaseMessage():
                self._sessions.release(order.seat)
            case _:
                raise ProtocolError(f"a hub does not say {type(order).__name__}")

    async def _serve_peer(
        self, connection: SealedConnection, session: PeerSession, idle_s: float | None
    ) -> None:
        joiner = RpcJoiner()
        try:
            connection.send(encode(session.welcome))
            while (tlv := await _next(connection, idle_s)) is not None:
                if tlv.tag == ERROR:
                    session.finish()
                    return
                message = joiner.add(tlv)
                if message is not None:
                    session.receive(message)
                    await session.drained()
        finally:
            session.leave()


def _dismiss(connection: SealedConnection) -> None:
    connection.send(encode(FaultMessage(FaultCode.CLOSING, "the server stops")))
    connection.close()


async def _next(connection: SealedConnection, idle_s: float | None) -> Tlv | None:
    """The next TLV; TimeoutError after `idle_s` without a sign of life."""
    while idle_s is not None:
        until = connection.received_at + idle_s
        try:
            async with asyncio.timeout_at(until):
                return await connection.receive()
        except TimeoutError:
            if connection.received_at + idle_s <= until:
                raise
    return await connection.receive()


def _code(error: RookeryError) -> FaultCode:
    match error:
        case AuthenticationError():
            return FaultCode.NO_SEAT
        case DeniedError():
            return FaultCode.DENIED
        case _:
            return FaultCode.PROTOCOL
