"""Web listener: WebSocket at `/rpc` for browsers, and the status pages.

    browser ─ {"seat":"…","ticket":"…"} ─▶ server          the first message, within seconds
    browser ◀─ {"seat":"…","mac":"…","ticket":"…","seconds":60} ─ server
    browser ◀─ JSON-RPC, one message each ─▶ server

The ticket is the authority, not the page it comes from. Faults close with 4000 + their code.
"""

import asyncio
import ssl

import msgspec

from rookery.errors import AuthenticationError
from rookery.runtime.fleet.admission import ConnectionAdmission
from rookery.runtime.fleet.listener import CLOSE_S, ConnectionListener
from rookery.runtime.tls.acceptor import ListenerTls
from rookery.server.seat_sessions import PeerSession, SeatSessions
from rookery.server.settings import ServerListenerLimits
from rookery.server.web_connection import Page, WebConnection
from rookery.wire.fleet.mac import mac_text
from rookery.wire.fleet.messages import AttendMessage, FaultCode, WelcomeMessage

CLOSE_CODE = 4000  # and above: for private use, as RFC 6455 has it


class WebWelcome(msgspec.Struct, frozen=True):
    """The answer to the first message."""

    seat: str
    mac: str
    router: str
    ticket: str  # proves, once, that the client may come back
    seconds: int  # for so long after its connection was lost

    @classmethod
    def of(cls, welcome: WelcomeMessage) -> "WebWelcome":
        mac = mac_text(welcome.mac)
        return cls(welcome.seat, mac, welcome.router, welcome.ticket, welcome.seconds)


class WebPeer:
    """A client at the other end of a WebSocket."""

    def __init__(self, connection: WebConnection) -> None:
        self._connection = connection

    def send(self, message: bytes) -> None:
        self._connection.send(message)

    async def drained(self) -> None:
        await self._connection.drained()

    def dismiss(self, code: FaultCode, text: str) -> None:
        self._connection.close(CLOSE_CODE + code, text)

    def abort(self) -> None:
        self._connection.abort()


class WebListener:
    """The HTTP listener of a server."""

    def __init__(
        self,
        sessions: SeatSessions,
        admission: ConnectionAdmission,
        page: Page,
        limits: ServerListenerLimits,
        origins: tuple[str, ...] = (),
    ) -> None:
        self._sessions = sessions
        self._admission = admission
        self._page = page
        self._limits = limits
        self._origins = origins
        self._loop = asyncio.get_running_loop()
        self._listener = ConnectionListener(admission, self._handle, _dismiss)

    async def listen(
        self, host: str, port: int, tls: ssl.SSLContext | None = None
    ) -> tuple[str, int]:
        """Accept connections on the address returned; UsageError if that cannot be."""
        secured = None if tls is None else ListenerTls(tls, self._limits.authenticate_s)
        return await self._listener.listen(host, port, self._accepted, secured)

    async def close(self) -> None:
        """Close the listener and its connections."""
        await self._listener.close()

    def _accepted(self) -> WebConnection:
        return WebConnection(self._page, self._origins, self._limits, self._listener)

    async def _handle(self, connection: WebConnection) -> None:
        try:
            async with asyncio.timeout(self._limits.authenticate_s):
                first = await connection.receive()
            if first is not None:
                await self._serve(connection, first)
            elif connection.is_broken:
                self._admission.tally["rubbish"] += 1
        except TimeoutError:
            self._admission.tally["slow"] += 1
            connection.close(CLOSE_CODE + FaultCode.PROTOCOL, "no word for too long")
        except AuthenticationError as error:
            self._admission.tally["no_seat"] += 1
            connection.close(CLOSE_CODE + FaultCode.NO_SEAT, str(error))
        finally:
            connection.end()
            await connection.wait_closed(CLOSE_S)

    async def _serve(self, connection: WebConnection, first: bytes) -> None:
        try:
            request = msgspec.json.decode(first, type=AttendMessage)
        except (msgspec.DecodeError, RecursionError) as error:
            raise AuthenticationError("begin with a seat and its ticket") from error
        session = self._sessions.seat_client(request, WebPeer(connection))
        connection.admit()
        try:
            connection.send(msgspec.json.encode(WebWelcome.of(session.welcome)))
            await self._relay(connection, session)
            if connection.is_done:
                session.finish()
        finally:
            session.leave()

    async def _relay(self, connection: WebConnection, session: PeerSession) -> None:
        """A browser answers pings by itself, so silence means that it is gone."""
        while True:
            try:
                async with asyncio.timeout(self._limits.ping_s):
                    message = await connection.receive()
            except TimeoutError:
                if self._loop.time() - connection.received_at > 3 * self._limits.ping_s:
                    raise
                connection.ping()
                continue
            if message is None:
                return
            session.receive(message)
            await session.drained()


def _dismiss(connection: WebConnection) -> None:
    connection.close(CLOSE_CODE + FaultCode.CLOSING, "the server stops")
