"""A client's side of a seat: calls the methods of the device at the server where it waits.

client ─ ATTEND with the ticket ─▶ server ─ WELCOME ─▶ client ◀─ JSON-RPC ─▶ server ◀─▶ device
"""

import asyncio
from itertools import count
from types import TracebackType
from typing import Self

import msgspec

from rookery.errors import (
    CongestionError,
    DeniedError,
    ProtocolError,
    RemoteError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.fleet.rendezvous.server_keys import checked_keys
from rookery.fleet.rendezvous.wish import Grant
from rookery.fleet.rpc import message as rpc_message
from rookery.fleet.rpc.message import RpcAnswer, RpcError
from rookery.fleet.rpc.parts import RpcJoiner, split
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.runtime.net.address import parse_address
from rookery.wire.fleet import tags
from rookery.wire.fleet.messages import (
    AttendMessage,
    FaultCode,
    FaultMessage,
    WelcomeMessage,
    decode,
    encode,
)
from rookery.wire.fleet.tlv import Tlv

TIMEOUT_S = 10.0
CALL_S = 60.0  # a little more than a server allows a device
CALLS_MAX = 64

_CONNECTION = SealedConnectionLimits(unsent_bytes_max=16 << 20)


class SeatTakenError(DeniedError):
    """The ticket is not valid any more: another program used it, or it has expired."""


class DeviceRpcSession:
    """Calls to one device; `open` makes it, and `async with` closes it."""

    def __init__(self, connection: SealedConnection, welcome: WelcomeMessage) -> None:
        self.welcome = welcome
        self._connection = connection
        self._ids = count(1)
        self._open: dict[bytes, asyncio.Future[RpcAnswer]] = {}
        self._failure: RookeryError | None = None
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(cls, identity: Identity, grant: Grant, timeout_s: float = TIMEOUT_S) -> Self:
        """Take the client's side of the seat; SeatTakenError when the ticket is no good."""
        keys = checked_keys(grant, grant.server)
        try:
            host, port = parse_address(grant.tcp)
        except UsageError as error:
            raise ProtocolError(f"the hub sends us nowhere: {error}") from error
        connection = await SealedConnection.dial(
            identity, grant.server, keys, host, port, timeout_s=timeout_s, limits=_CONNECTION
        )
        try:
            connection.send(encode(AttendMessage(grant.seat, grant.ticket)))
            async with asyncio.timeout(timeout_s):
                answer = await connection.receive()
            return cls(connection, _receive_welcome(answer, grant.seat))
        except TimeoutError as error:
            connection.abort()
            raise UnreachableError(f"server {grant.server[:8]} does not say welcome") from error
        except BaseException:
            connection.abort()
            raise

    async def call(
        self, method: str, params: object = msgspec.UNSET, timeout_s: float = CALL_S
    ) -> object:
        """What the device's method returns; RpcError when it answers with an error."""
        answer = await self.ask(method, params, timeout_s)
        if answer.error is not None:
            raise answer_error(answer.error)
        assert answer.result is not None
        return msgspec.json.decode(answer.result)

    async def ask(
        self, method: str, params: object = msgspec.UNSET, timeout_s: float = CALL_S
    ) -> RpcAnswer:
        """The device's answer, be it a result or an error."""
        if self._failure is not None:
            raise self._failure
        if len(self._open) >= CALLS_MAX:
            raise CongestionError(f"{CALLS_MAX} calls wait for their answers")
        number = next(self._ids)
        key = str(number).encode()
        message = rpc_message.call(method, params, number)
        if len(message) > rpc_message.MESSAGE_SIZE_MAX:
            raise UsageError(f"a call of {len(message)} bytes is too long")
        self._open[key] = asyncio.get_running_loop().create_future()
        try:
            self._connection.send(*split(message))
            async with asyncio.timeout(timeout_s):
                return await self._open[key]
        except TimeoutError as error:
            raise UnreachableError(f"no answer to {method} in {timeout_s:g} s") from error
        finally:
            self._open.pop(key, None)

    def notify(self, method: str, params: object = msgspec.UNSET) -> None:
        """Call without an answer."""
        if self._failure is not None:
            raise self._failure
        self._connection.send(*split(rpc_message.call(method, params)))

    async def wait_closed(self) -> RookeryError:
        """Wait for the end; why it came."""
        await asyncio.wait([self._reading])
        assert self._failure is not None
        return self._failure

    async def close(self) -> None:
        """Close for good, which frees the seat and lets the device leave."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        if not self._connection.is_closed:  # so the server need not wait for us to come back
            self._connection.send(encode(FaultMessage(FaultCode.CLOSING, "done")))
        self._connection.close()
        await self._connection.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _read(self) -> None:
        joiner = RpcJoiner()
        failure: RookeryError = UnreachableError("the server closed the connection")
        try:
            while (tlv := await self._connection.receive()) is not None:
                if tlv.tag == tags.ERROR:
                    failure = _error_of(decode(tlv))
                    break
                if (message := joiner.add(tlv)) is not None:
                    self._answered(message)
        except RemoteError as error:
            failure = error
        except RpcError as error:
            failure = ProtocolError(f"the server sends what is no JSON-RPC: {error}")
        except asyncio.CancelledError:
            self._fail(UnreachableError("the session was closed"))
            raise
        self._fail(failure)
        self._connection.close()

    def _fail(self, failure: RookeryError) -> None:
        self._failure = failure
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_exception(failure)

    def _answered(self, message: bytes) -> None:
        for item in rpc_message.parse(message).items:
            if isinstance(item, RpcAnswer):
                waiting = self._open.get(item.id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(item)


def answer_error(error: bytes) -> RpcError:
    """The error object of an answer, as an error of ours."""
    rpc_error = rpc_message.RpcErrorObject.parse(error)
    data = msgspec.UNSET if rpc_error.data is msgspec.UNSET else msgspec.json.decode(rpc_error.data)
    return RpcError(rpc_error.code, rpc_error.message, data)


def _receive_welcome(answer: Tlv | None, seat: str) -> WelcomeMessage:
    if answer is None:
        raise UnreachableError("the server closed the connection")
    message = decode(answer)
    if isinstance(message, FaultMessage):
        raise _error_of(message)
    if not isinstance(message, WelcomeMessage) or message.seat != seat:
        raise ProtocolError("the server does not say welcome")
    return message


def _error_of(fault: object) -> RookeryError:
    assert isinstance(fault, FaultMessage)
    text = f"the server says: {fault.text}"
    match fault.code:
        case FaultCode.NO_SEAT:
            return SeatTakenError(text)
        case FaultCode.DENIED:
            return DeniedError(text)
        case _:
            return UnreachableError(text)
