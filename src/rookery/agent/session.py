"""Sessions of an agent: called by the hub, it connects to a server and serves JSON-RPC there.

    hub ─ CALL, by UDP ─▶ agent ─ ASK ─▶ hub ─ DIRECT ─▶ agent ─ ARRIVE ─▶ server ─ WELCOME ─▶
    agent ◀─ JSON-RPC ─▶ server, until the server closes or has nothing to say for long

When a server fails, the agent asks the hub again, which knows whether the wish is still open; the
number of attempts and their backoff are bounded. So is the number of sessions, one for each wish.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import msgspec

from rookery.errors import (
    DeniedError,
    ProtocolError,
    RemoteError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.fleet.rendezvous.server_keys import checked_keys
from rookery.fleet.rpc.dispatcher import Dispatcher
from rookery.fleet.rpc.parts import RpcJoiner, split
from rookery.identity.identity import Identity
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.runtime.net.address import parse_address
from rookery.wire.fleet import tags
from rookery.wire.fleet.messages import (
    ArriveMessage,
    AskMessage,
    DirectMessage,
    FaultCode,
    FaultMessage,
    Message,
    ServerAddress,
    WelcomeMessage,
    decode,
    encode,
)
from rookery.wire.fleet.tlv import Tlv

_log = logging.getLogger(__name__)

_CONNECTION = SealedConnectionLimits(unsent_bytes_max=16 << 20)


class AgentRpcServer:
    """Serves the calls of one session; the end of the connection cancels running calls."""

    def __init__(
        self, dispatcher: Dispatcher, connection: SealedConnection, running_max: int
    ) -> None:
        self._dispatcher = dispatcher
        self._connection = connection
        self._free = asyncio.Semaphore(running_max)
        self._running: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self.count = 0

    async def serve(self, idle_s: float) -> FaultMessage | None:
        """Serve until the connection ends or is idle; returns the server's reason, if any."""
        joiner = RpcJoiner()
        try:
            while (tlv := await self._next(idle_s)) is not None:
                if tlv.tag == tags.ERROR:
                    fault = decode(tlv)
                    assert isinstance(fault, FaultMessage)
                    return fault
                if (message := joiner.add(tlv)) is not None:
                    await self._begin(message)
            return None
        finally:
            running = list(self._running)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _next(self, idle_s: float) -> Tlv | None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(idle_s):
                    return await self._connection.receive()
            if not self._running:
                return None

    async def _begin(self, message: bytes) -> None:
        """Start a call; at the limit nothing more is read, which makes the server wait."""
        await self._free.acquire()
        self.count += 1
        task = self._loop.create_task(self._answer(message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _answer(self, message: bytes) -> None:
        try:
            answer = await self._dispatcher.dispatch(message)
            if answer is not None:
                self._connection.send(*split(answer))
                await self._connection.drained()  # or unread answers would pile up
        finally:
            self._free.release()


class AgentSessionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of an agent's sessions."""

    sessions_max: int = 16  # at once, including seats whose client may come back
    calls_max: int = 8  # at once, of one session
    asks_max: int = 6  # of one session
    dial_s: float = 10.0
    direct_s: float = 40.0  # the hub may have to try several servers
    welcome_s: float = 10.0
    idle_s: float = 900.0  # at a silent server
    backoff_s: float = 0.5  # before the second attempt, doubled each time
    backoff_s_max: float = 8.0


LIMITS = AgentSessionLimits()


class WishGoneError(UnreachableError):
    """The hub has no such wish for this device any more."""


class AgentSession:
    """The session for one wish; `run` ends when the session is over or cannot be had."""

    def __init__(
        self,
        identity: Identity,
        hub: HubAddress,
        dispatcher: Dispatcher,
        wish: int,
        limits: AgentSessionLimits = LIMITS,
    ) -> None:
        self._identity = identity
        self._hub = hub
        self._dispatcher = dispatcher
        self._wish = wish
        self._limits = limits

    async def run(self) -> None:
        """UnreachableError if the wish could not be fulfilled, DeniedError if it is not for us."""
        failure: RookeryError = UnreachableError("no attempt was made")
        for attempt in range(self._limits.asks_max):
            if attempt:
                _log.info("wish %016x: %s; asking the hub again", self._wish, failure)
                await asyncio.sleep(self._pause_s(attempt))
            try:
                direct = await self._ask()
                if await self._serve_at(direct):
                    return
                failure = UnreachableError("nobody came to the server")
            except WishGoneError:
                raise
            except (UnreachableError, RemoteError) as error:
                failure = error
        raise UnreachableError(f"gave up after {self._limits.asks_max} tries: {failure}")

    def _pause_s(self, attempt: int) -> float:
        """Jitter, as many agents may have lost the same server."""
        longest = min(self._limits.backoff_s * (1 << (attempt - 1)), self._limits.backoff_s_max)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)

    async def _ask(self) -> DirectMessage:
        """Ask the hub for a server."""
        connection = await self._dial_hub()
        try:
            connection.send(encode(AskMessage(self._wish)))
            answer = await _next_message(connection, self._limits.direct_s)
        finally:
            connection.close()
        if isinstance(answer, FaultMessage):
            raise _error_of(answer, "the hub")
        if not isinstance(answer, DirectMessage) or answer.wish != self._wish:
            raise ProtocolError("the hub answers something else than it was asked")
        return answer

    async def _dial_hub(self) -> SealedConnection:
        failure = UnreachableError("the hub has no address")
        for place in await self._hub.tcp():
            try:
                return await SealedConnection.dial(
                    self._identity,
                    self._hub.hashname,
                    self._hub.stream_keys,
                    *place,
                    timeout_s=self._limits.dial_s,
                )
            except UnreachableError as error:
                failure = error
        raise failure

    async def _serve_at(self, direct: DirectMessage) -> bool:
        """True if a client made calls there."""
        connection = await self._dial_server(direct.server)
        try:
            connection.send(encode(ArriveMessage(direct.seat, direct.ticket)))
            welcome = await _next_message(connection, self._limits.welcome_s)
            if isinstance(welcome, FaultMessage):
                raise _error_of(welcome, "the server")
            if not isinstance(welcome, WelcomeMessage) or welcome.seat != direct.seat:
                raise ProtocolError("the server does not say welcome")
            _log.info("at server %s for wish %016x", direct.server.hashname[:8], self._wish)
            calls = AgentRpcServer(self._dispatcher, connection, self._limits.calls_max)
            await calls.serve(self._limits.idle_s)
            return calls.count > 0
        finally:
            connection.close()

    async def _dial_server(self, server: ServerAddress) -> SealedConnection:
        keys = checked_keys(server, server.hashname)
        try:
            host, port = parse_address(server.tcp)
        except UsageError as error:
            raise ProtocolError(f"the hub sends us nowhere: {error}") from error
        return await SealedConnection.dial(
            self._identity,
            server.hashname,
            keys,
            host,
            port,
            timeout_s=self._limits.dial_s,
            limits=_CONNECTION,
        )


async def _next_message(connection: SealedConnection, timeout_s: float) -> Message:
    """The next message; UnreachableError on timeout or at the end of the connection."""
    try:
        async with asyncio.timeout(timeout_s):
            tlv = await connection.receive()
    except TimeoutError as error:
        raise UnreachableError(
            f"{connection.address[0]} says nothing for {timeout_s:g} s"
        ) from error
    if tlv is None:
        raise UnreachableError(f"{connection.address[0]} closed the connection")
    return decode(tlv)


def _error_of(fault: FaultMessage, name: str) -> RookeryError:
    text = f"{name} says: {fault.text}"
    match fault.code:
        case FaultCode.NO_WISH:
            return WishGoneError(text)
        case FaultCode.DENIED:
            return DeniedError(text)
        case _:
            return UnreachableError(text)


class AgentSessions:
    """Owns the tasks; `called` begins a session unless that wish has one."""

    def __init__(
        self, make_session: Callable[[int], AgentSession], limits: AgentSessionLimits = LIMITS
    ) -> None:
        self._make_session = make_session
        self._limits = limits
        self._running: dict[int, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        self.tally: Counter[str] = Counter()  # calls by outcome

    def called(self, wish: int) -> None:
        """The hub repeats its call with every report, until the agent asks it."""
        if wish in self._running:
            self.tally["repeated"] += 1
        elif len(self._running) >= self._limits.sessions_max:
            if not self.tally["too_many"]:
                _log.warning(
                    "wish %016x has to wait: %d sessions at once", wish, len(self._running)
                )
            self.tally["too_many"] += 1
        else:
            task = self._loop.create_task(self._run(wish))
            self._running[wish] = task
            task.add_done_callback(lambda _: self._running.pop(wish))

    @property
    def running(self) -> int:
        return len(self._running)

    async def close(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, wish: int) -> None:
        try:
            await self._make_session(wish).run()
            self.tally["fulfilled"] += 1
        except WishGoneError:
            self.tally["not_wanted"] += 1
        except RookeryError as error:
            self.tally["failed"] += 1
            _log.warning("wish %016x: %s", wish, error)
