"""Hub listener: the TCP port for devices and servers, sealed from the first byte.

Connections must prove their identity in time; their first message decides what serves them:

ASK           a device, for a wish                    Matchmaker
HOLD, RENEW   a server, for leases of its seats       LeaseService
CERTIFY       a server, for a certificate of its TLS  ServerCertificates
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from rookery.errors import CongestionError, DecodeError, DeniedError, UnreachableError
from rookery.hub.rendezvous.lease_answers import LeaseService
from rookery.hub.rendezvous.matchmaker import Matchmaker
from rookery.hub.server_certificates import ServerCertificates
from rookery.hub.settings import HubListenerLimits
from rookery.identity.identity import Identity
from rookery.runtime.fleet.admission import ConnectionAdmission
from rookery.runtime.fleet.listener import ConnectionListener
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.wire.fleet import messages
from rookery.wire.fleet.messages import (
    AskMessage,
    CertifyMessage,
    FaultCode,
    FaultMessage,
    HoldMessage,
    RenewMessage,
)

PeerHandler = Callable[[SealedConnection], Awaitable[None]]


class HubListener:
    """Passes each authenticated connection to `welcome`, and closes it when that returns."""

    def __init__(self, identity: Identity, welcome: PeerHandler, limits: HubListenerLimits) -> None:
        self._identity = identity
        self._welcome = welcome
        self._authenticate_s = limits.authenticate_s
        self._connection_limits = SealedConnectionLimits(
            received_bytes_max=limits.received_bytes_max, unsent_bytes_max=limits.unsent_bytes_max
        )
        self._admission = ConnectionAdmission(limits, asyncio.get_running_loop().time())
        self._listener = ConnectionListener(self._admission, self._handle, SealedConnection.close)

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Accept connections on the address returned; UsageError if that cannot be."""
        return await self._listener.listen(host, port, self._accepted)

    def expect(self, address: str, seconds: float) -> None:
        """Expect a called device or a known server from this `ip` or `ip:port`."""
        ip = address.rpartition(":")[0].strip("[]") if ":" in address else address
        self._admission.expect(ip, seconds, asyncio.get_running_loop().time())

    @property
    def connections(self) -> int:
        return self._admission.count

    @property
    def tally(self) -> Counter[str]:
        """Connections by what became of them."""
        return self._admission.tally

    async def close(self) -> None:
        await self._listener.close()

    def _accepted(self) -> SealedConnection:
        return SealedConnection.accept(self._identity, self._connection_limits, self._listener)

    async def _handle(self, connection: SealedConnection) -> None:
        try:
            async with asyncio.timeout(self._authenticate_s):
                await connection.authenticated()
        except (TimeoutError, UnreachableError) as error:
            self.tally["slow" if isinstance(error, TimeoutError) else "rubbish"] += 1
            connection.abort()
            return
        self.tally["welcome"] += 1
        try:
            await self._welcome(connection)
        finally:
            connection.close()


_TEXT_SIZE_MAX = 200


class HubRequestHandler:
    """`handle` is what the listener calls; the connection may be closed when it returns."""

    def __init__(
        self,
        matchmaker: Matchmaker,
        leases: LeaseService,
        certifying: ServerCertificates,
        idle_s: float,
    ) -> None:
        self._matchmaker = matchmaker
        self._leases = leases
        self._certifying = certifying
        self._idle_s = idle_s

    async def handle(self, connection: SealedConnection) -> None:
        try:
            fault = await self._respond(connection)
        except TimeoutError:
            fault = FaultMessage(FaultCode.BUSY, "this took too long")
        except DecodeError as error:
            fault = _fault(FaultCode.PROTOCOL, error)
        except DeniedError as error:
            fault = _fault(FaultCode.DENIED, error)
        except CongestionError as error:
            fault = _fault(FaultCode.BUSY, error)
        except UnreachableError:
            fault = FaultMessage(FaultCode.BUSY, "a store of the hub does not answer")
        if fault is not None:
            self._matchmaker.tally[f"fault_{fault.code}"] += 1
            connection.send(messages.encode(fault))

    async def _respond(self, connection: SealedConnection) -> FaultMessage | None:
        async with asyncio.timeout(self._idle_s):
            tlv = await connection.receive()
        if tlv is None:
            return None
        match messages.decode(tlv):
            case AskMessage() as ask:
                async with asyncio.timeout(self._idle_s):
                    return await self._matchmaker.serve_device(connection, ask)
            case HoldMessage() | RenewMessage() as first:
                return await self._leases.serve(connection, first)
            case CertifyMessage() as request:
                async with asyncio.timeout(self._idle_s):
                    connection.send(
                        messages.encode(await self._certifying.certify(connection, request))
                    )
                return None
            case other:
                raise DecodeError(
                    f"a conversation with a hub does not begin with {type(other).__name__}"
                )


def _fault(code: FaultCode, error: Exception) -> FaultMessage:
    return FaultMessage(code, str(error)[:_TEXT_SIZE_MAX])
