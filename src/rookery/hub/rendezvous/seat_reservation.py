"""Seat reservation: a connection to a server for one seat, while the hub waits for the device."""

from collections.abc import Callable

from rookery.errors import DecodeError, RookeryError, UnreachableError
from rookery.fleet.rendezvous.events import RendezvousEvent, ServerLost
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.fleet.rendezvous.server_keys import stream_keys
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.wire.fleet import messages
from rookery.wire.fleet.tlv import Tlv

DIAL_S = 5.0

_LIMITS = SealedConnectionLimits(received_bytes_max=1 << 16, unsent_bytes_max=1 << 16)

Tell = Callable[[RendezvousEvent], None]


class SeatReservation:
    """Requests a seat and passes the server's messages on."""

    def __init__(
        self, identity: Identity, server: ServerLoad, message: messages.ReserveMessage, tell: Tell
    ) -> None:
        self.server = server.hashname
        self._identity = identity
        self._load = server
        self._message = message
        self._tell = tell
        self._connection: SealedConnection | None = None
        self._is_released = False

    async def run(self) -> None:
        """Runs until the seat is settled and the connection closed; failures are events, too."""
        try:
            reason = await self._talk()
        except (RookeryError, ValueError) as error:
            reason = str(error)
        finally:
            self.close()
        self._tell(ServerLost(self._message.seat, reason))

    def release(self) -> None:
        """The seat is not needed; a call that is still being made is not worth going on with."""
        self._is_released = True
        if self._connection is not None:
            self._connection.send(messages.encode(messages.ReleaseMessage(self._message.seat)))

    def close(self) -> None:
        """End the connection once everything is written."""
        if self._connection is not None:
            self._connection.close()

    async def _talk(self) -> str:
        host, _, port = self._load.tcp.rpartition(":")
        self._connection = connection = await SealedConnection.dial(
            self._identity,
            self._load.hashname,
            stream_keys(self._load),
            host.strip("[]"),
            int(port),
            timeout_s=DIAL_S,
            limits=_LIMITS,
        )
        if self._is_released:
            raise UnreachableError("no longer needed")
        connection.send(messages.encode(self._message))
        while (message := await connection.receive()) is not None:
            self._pass_on(message)
        return str(connection.error or "it closed the connection")

    def _pass_on(self, message: Tlv) -> None:
        match messages.decode(message):
            case (
                messages.ReservedMessage()
                | messages.RefusedMessage()
                | messages.ArrivedMessage()
                | messages.AbandonedMessage()
            ) as said:
                if said.seat == self._message.seat:
                    self._tell(said)
            case messages.FaultMessage() as fault:
                raise UnreachableError(fault.text)
            case other:
                raise DecodeError(f"a server does not say {type(other).__name__}")
