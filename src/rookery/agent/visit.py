"""A visit: called by the hub, the agent asks it where to go, goes there, and does what it is told.

    hub ─ CALL, by UDP ─▶ agent ─ ASK ─▶ hub ─ DIRECT ─▶ agent ─ ARRIVE ─▶ server ─ WELCOME ─▶
    agent ◀─ JSON-RPC ─▶ server, until the server closes or has nothing to say for long

A server that fails sends the agent back to the hub, which knows whether the wish still stands; how
often, and how soon again, has bounds. So has the number of visits, one for each wish.
"""

import asyncio
import logging
import random

import msgspec

from rookery.agent.calls import Calls
from rookery.errors import (
    DeniedError,
    ProtocolError,
    RemoteError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.fleet.rpc import Dispatcher
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.cs40 import CSID as CSID40
from rookery.identity.hashname import hashname
from rookery.identity.identity import Identity
from rookery.runtime.gates.address import parse_address
from rookery.runtime.hub_address import HubAddress
from rookery.runtime.sealed_line import LineLimits, SealedLine
from rookery.wire.fleet_messages import (
    Arrive,
    Ask,
    Direct,
    Fault,
    FaultCode,
    Message,
    ServerAddress,
    Welcome,
    decode,
    encode,
)

_log = logging.getLogger(__name__)

_LINE = LineLimits(unsent_bytes_max=16 << 20)


class VisitLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long, how often and how many."""

    visits_max: int = 16  # at once; a seat whose client may come back is one, too
    calls_max: int = 8  # at once, of one visit
    asks_max: int = 6  # of one visit
    dial_s: float = 10.0
    direct_s: float = 40.0  # the hub may have to try several servers
    welcome_s: float = 10.0
    idle_s: float = 900.0  # at a server that says nothing
    backoff_s: float = 0.5  # before the second ask, doubled each time
    backoff_s_max: float = 8.0


LIMITS = VisitLimits()


class NotWantedError(UnreachableError):
    """The hub knows of no wish for us any more, so there is nowhere to go."""


class Visit:
    """One wish; `run` ends when it came true and is over, or is not to be had."""

    def __init__(
        self,
        identity: Identity,
        hub: HubAddress,
        dispatcher: Dispatcher,
        wish: int,
        limits: VisitLimits = LIMITS,
    ) -> None:
        self._identity = identity
        self._hub = hub
        self._dispatcher = dispatcher
        self._wish = wish
        self._limits = limits

    async def run(self) -> None:
        """UnreachableError when the wish could not be fulfilled, DeniedError when not by us."""
        failure: RookeryError = UnreachableError("nobody was asked")
        for attempt in range(self._limits.asks_max):
            if attempt:
                _log.info("wish %016x: %s; asking the hub again", self._wish, failure)
                await asyncio.sleep(self._pause_s(attempt))
            try:
                direct = await self._ask()
                if await self._serve_at(direct):
                    return
                failure = UnreachableError("nobody came to the server")
            except NotWantedError:
                raise
            except (UnreachableError, RemoteError) as error:
                failure = error
        raise UnreachableError(f"gave up after {self._limits.asks_max} tries: {failure}")

    def _pause_s(self, attempt: int) -> float:
        """Jitter, as many agents may have lost the same server."""
        longest = min(self._limits.backoff_s * (1 << (attempt - 1)), self._limits.backoff_s_max)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)

    async def _ask(self) -> Direct:
        """Where to go, from the hub."""
        line = await self._dial_hub()
        try:
            line.send(encode(Ask(self._wish)))
            answer = await _message(line, self._limits.direct_s)
        finally:
            line.close()
        if isinstance(answer, Fault):
            raise _error_of(answer, "the hub")
        if not isinstance(answer, Direct) or answer.wish != self._wish:
            raise ProtocolError("the hub answers something else than it was asked")
        return answer

    async def _dial_hub(self) -> SealedLine:
        failure = UnreachableError("the hub has no address")
        for place in await self._hub.tcp():
            try:
                return await SealedLine.dial(
                    self._identity,
                    self._hub.hashname,
                    self._hub.key2a,
                    *place,
                    timeout_s=self._limits.dial_s,
                )
            except UnreachableError as error:
                failure = error
        raise failure

    async def _serve_at(self, direct: Direct) -> bool:
        """Whether anybody made use of us there."""
        line = await self._dial_server(direct.server)
        try:
            line.send(encode(Arrive(direct.seat, direct.ticket)))
            welcome = await _message(line, self._limits.welcome_s)
            if isinstance(welcome, Fault):
                raise _error_of(welcome, "the server")
            if not isinstance(welcome, Welcome) or welcome.seat != direct.seat:
                raise ProtocolError("the server does not say welcome")
            _log.info("at server %s for wish %016x", direct.server.hashname[:8], self._wish)
            calls = Calls(self._dispatcher, line, self._limits.calls_max)
            await calls.serve(self._limits.idle_s)
            return calls.count > 0
        finally:
            line.close()

    async def _dial_server(self, server: ServerAddress) -> SealedLine:
        if hashname({RSA_CSID: server.key2a}, {CSID40: server.digest40}) != server.hashname:
            raise ProtocolError("the hub names a server by keys that are not its own")
        try:
            host, port = parse_address(server.tcp)
        except UsageError as error:
            raise ProtocolError(f"the hub sends us nowhere: {error}") from error
        return await SealedLine.dial(
            self._identity,
            server.hashname,
            server.key2a,
            host,
            port,
            timeout_s=self._limits.dial_s,
            limits=_LINE,
        )


async def _message(line: SealedLine, timeout_s: float) -> Message:
    """The next thing said; UnreachableError when that takes too long or the line ends."""
    try:
        async with asyncio.timeout(timeout_s):
            tlv = await line.receive()
    except TimeoutError as error:
        raise UnreachableError(f"{line.address[0]} says nothing for {timeout_s:g} s") from error
    if tlv is None:
        raise UnreachableError(f"{line.address[0]} closed the connection")
    return decode(tlv)


def _error_of(fault: Fault, who: str) -> RookeryError:
    text = f"{who} says: {fault.text}"
    match fault.code:
        case FaultCode.NO_WISH:
            return NotWantedError(text)
        case FaultCode.DENIED:
            return DeniedError(text)
        case _:
            return UnreachableError(text)
