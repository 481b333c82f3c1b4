"""An outbox on the event loop: requests from any thread, sessions over any stream.

    outbox = AsyncOutbox(hashname, handler=handler, dial=dial)
    outbox.add_peer(bob)
    reply = await outbox.send(bob, b"open the door", qos=2, wants_reply=True)

    from any thread:
    request = outbox.request(b"…", expires_s=60.0)
    outbox.peer(bob).add_packet(request)
    request.set_invalid()

A lock guards what threads share; it is held for some lines of arithmetic, never across a call that
waits. However many requests are added, the loop is woken once until it has looked.
"""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rookery.errors import ProtocolError, RookeryError, UnreachableError, UsageError
from rookery.outbox.ledger import RequestNumbering
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.outbox import LIMITS, Outbox, OutboxAlarm
from rookery.outbox.peer import OutboxPeer
from rookery.outbox.request import OutboxRequest
from rookery.runtime.net.byte_stream import ByteStream
from rookery.runtime.outbox.connection import (
    OutboxConnection,
    part,
    read_introduction,
    unknown_peer,
)
from rookery.runtime.outbox.handling import (
    Handler,
    MemoryExecutor,
    RequestExecutor,
    RequestHandling,
)
from rookery.runtime.outbox.session_keeper import Dial, Knock, SessionKeeper
from rookery.wire import base32
from rookery.wire.outbox.frames import Qos

if TYPE_CHECKING:  # SQLite takes memory, and most outboxes have no ledger
    from rookery.runtime.outbox.ledger import SqliteLedger
    from rookery.runtime.outbox.ledger_file import KeptPeer, KeptRequest, Transact


class AsyncOutbox:
    """To be made on its event loop; `close` ends everything it started."""

    def __init__(
        self,
        hashname: str,
        *,
        handler: Handler | None = None,
        dial: Dial | None = None,
        knock: Knock | None = None,
        limits: OutboxLimits = LIMITS,
        ledger: "SqliteLedger | None" = None,
        transact: "Transact | None" = None,
        on_alarm: Callable[[OutboxAlarm], object] | None = None,
    ) -> None:
        self.hashname = hashname
        self.handler = handler  # may be set later; until then requests are refused
        self.on_alarm = on_alarm
        self._loop = asyncio.get_running_loop()
        self._dial = dial
        self._knock = knock
        self._ledger = ledger
        self.core = Outbox(
            base32.decode(hashname),
            limits=limits,
            guard=threading.Lock(),
            wake=self._wake,
            ledger=ledger,
        )
        executor: RequestExecutor = MemoryExecutor(lambda: self.handler)
        if ledger is not None:
            executor = ledger.executor(lambda: self.handler, transact)
            ledger.bind(self._cleared, self._unkept)
        elif transact is not None:
            raise UsageError("a handler that transacts needs a ledger to do so in")
        self._handling = RequestHandling(executor)
        self._keepers: dict[OutboxPeer, SessionKeeper] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: float | None = None
        self._room = asyncio.Event()
        self._closings: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Future[OutboxRequest]] = set()
        self._is_closed = False
        self.wakes = 0  # how often another thread woke the loop

    # --- from any thread ---

    def request(
        self,
        payload: bytes,
        *,
        qos: int = Qos.ONCE_AT_LEAST,
        expires_s: float | None = None,
        wants_reply: bool = False,
    ) -> OutboxRequest:
        """With one reference, which is the caller's to release."""
        expires_at = None if expires_s is None else time.monotonic() + expires_s
        request = OutboxRequest.create(
            self.core.pool, payload, qos=qos, expires_at=expires_at, wants_reply=wants_reply
        )
        if self.core.on_ended is not None:
            request.made_at = time.monotonic()
        return request

    def peer(self, host: str) -> OutboxPeer:
        """UnreachableError when there is none: it may just have been removed."""
        return self.core.peer(host)

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._process)
        except RuntimeError as error:  # so the loop says that it is closed
            raise UnreachableError("the outbox is closed") from error

    # --- from the loop's thread ---

    async def send(
        self,
        host: str,
        payload: bytes,
        *,
        qos: int = Qos.ONCE_AT_LEAST,
        expires_s: float | None = None,
        wants_reply: bool = False,
    ) -> bytes | None:
        """Queue it, wait for its end, and return the reply; RookeryError says what became of it.

        Cancelled, it cancels the request, if that is still possible.
        """
        request = self.request(payload, qos=qos, expires_s=expires_s, wants_reply=wants_reply)
        try:
            ended = self.ended(request)
            self.peer(host).add_packet(request)
            await ended
        except asyncio.CancelledError:
            request.set_invalid()
            raise
        finally:
            request.release()
        if (error := request.error) is not None:
            raise error
        return request.answer

    def ended(self, request: OutboxRequest) -> "asyncio.Future[OutboxRequest]":
        """Resolved when the request has an end; to be asked for before it is added."""
        future: asyncio.Future[OutboxRequest] = self._loop.create_future()

        def tell(request: OutboxRequest) -> None:
            if not future.done():
                future.set_result(request)

        request.watcher = tell
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    async def room(self, host: str, size: int = 0) -> None:
        """Wait until a request of so many bytes would be taken."""
        limits = self.core.limits
        while True:
            peer = self.peer(host)
            is_short = peer.count < limits.peer_requests_max
            if is_short and peer.bytes + size <= limits.peer_bytes_max:
                return
            self._room.clear()
            await self._room.wait()

    def add_peer(self, host: str) -> OutboxPeer:
        """With a ledger, as it was when the last process ended."""
        kept = None if self._ledger is None else self._ledger.kept.pop(host, None)
        if kept is not None:
            peer = self._restored(host, kept)
        else:
            numbering = RequestNumbering(epoch=secrets.randbits(63), memory=secrets.randbits(63))
            peer = self.core.add_peer(host, numbering)
            if self._ledger is not None:
                self._ledger.register(host, numbering)
        self._keep(peer)
        self._after()
        return peer

    def _restored(self, host: str, kept: "KeptPeer") -> OutboxPeer:
        numbering = RequestNumbering(
            epoch=kept.epoch, memory=kept.memory, their_memory=kept.their_memory
        )
        peer = self.core.add_peer(host, numbering)
        requests = [self._request_again(one) for one in kept.requests]
        peer.restore(requests, kept.began)
        peer.intake.restore(kept.heard, kept.handled, kept.answers)
        return peer

    def _request_again(self, kept: "KeptRequest") -> OutboxRequest:
        expires_s = None if kept.expires_at is None else kept.expires_at - time.time()
        request = self.request(
            kept.payload, qos=kept.qos, expires_s=expires_s, wants_reply=kept.wants_reply
        )
        request.id = kept.id
        return request

    def _keep(self, peer: OutboxPeer) -> None:
        is_lower = self.hashname < peer.host
        dial = self._dial if is_lower else None
        knock = None if is_lower and self._knock is None else self._knock
        self._keepers[peer] = keeper = SessionKeeper(peer, dial, knock, self._converse)
        if peer.count:
            keeper.want()

    def remove_peer(self, host: str) -> None:
        """Its requests fail, and whoever looks for it is told that there is none."""
        peer = self.peer(host)
        self.core.remove_peer(host, time.monotonic())
        if self._ledger is not None:
            self._ledger.remove(host)
        self._let_go(peer)
        self._after()

    def set_peers(self, hosts: Iterable[str]) -> None:
        """These and no others."""
        wanted = set(hosts) - {self.hashname}
        for host in [host for host in self.core.peers if host not in wanted]:
            self.remove_peer(host)
        for host in sorted(wanted - self.core.peers.keys()):
            self.add_peer(host)

    def _let_go(self, peer: OutboxPeer) -> None:
        task = self._loop.create_task(self._keepers.pop(peer).close())
        self._closings.add(task)
        task.add_done_callback(self._closings.discard)

    def last_error(self, peer: OutboxPeer) -> str:
        keeper = self._keepers.get(peer)
        return "" if keeper is None else keeper.last_error

    def knocked(self, host: str) -> None:
        """The peer has something to send; UnreachableError when it is none."""
        self._keepers[self.peer(host)].want(is_requested=True)

    # --- sessions ---

    async def serve(self, stream: ByteStream, host: str = "") -> None:
        """A session that a peer has dialled; `host` is who it is, where the stream proves that."""
        first = b""
        try:
            if not host:
                introduction, first = await read_introduction(stream)
                host = base32.encode(introduction.hashname)
            peer = self.peer(host)
            if host > self.hashname:
                raise ProtocolError("the lower hashname dials")
        except (RookeryError, OSError, TimeoutError) as error:
            await part(stream, unknown_peer(str(error)))
            stream.abort(0)
            return
        await self._converse(peer, stream, first)

    async def _converse(self, peer: OutboxPeer, stream: ByteStream, first: bytes = b"") -> None:
        if self._ledger is not None:
            await self._ledger.flush()  # our introduction promises to remember
        conversation = OutboxConnection(
            peer, stream, time.monotonic, self._handling.arrived, self._after
        )
        await conversation.run(first)
        keeper = self._keepers.get(peer)
        if keeper is not None:
            if conversation.error is not None:
                keeper.last_error = str(conversation.error)
            if peer.session is None and peer.count:
                keeper.want()
        self._after()

    # --- the loop's own work ---

    def _process(self) -> None:
        if self._is_closed:
            return
        self.wakes += 1
        for peer in self.core.process(time.monotonic()):
            if peer.session is None and peer.count and peer in self._keepers:
                self._keepers[peer].want()
        self._after()

    def _tick(self) -> None:
        self._timer_at = None
        self.core.tick(time.monotonic())
        self._after()

    def _after(self) -> None:
        """Tell of alarms, let those on who wait for room, and set the timer."""
        self._room.set()
        while self.core.alarms:
            alarm = self.core.alarms.popleft()
            if self.on_alarm is not None:
                self.on_alarm(alarm)
        deadline = self.core.deadline
        if deadline == self._timer_at or self._is_closed:
            return
        self._timer_at = deadline
        if self._timer is not None:
            self._timer.cancel()
        if deadline is not None:
            delay_s = max(deadline - time.monotonic(), 0.0)
            self._timer = self._loop.call_later(delay_s, self._tick)

    # --- the ledger ---

    async def flush(self) -> None:
        """Until what was added, cancelled and ended so far is on disk, if there is a ledger."""
        self._process()
        if self._ledger is not None:
            await self._ledger.flush()

    def _cleared(self, host: str, id_: int) -> None:
        peer = self.core.peers.get(host)
        if peer is not None:
            peer.cleared(id_, time.monotonic())

    def _unkept(self, error: Exception) -> None:
        """What cannot be kept must not be promised: nothing is taken or handled any more."""
        context = {"message": "the ledger of an outbox failed", "exception": error}
        self._loop.call_exception_handler(context)
        for peer in self.core.peers.values():
            peer.close(time.monotonic())

    async def close(self) -> None:
        """Sessions end, and every request with them, unless a ledger keeps it for the next time."""
        self._process()
        for host, peer in list(self.core.peers.items()):
            if self._ledger is None:
                self.remove_peer(host)
            else:
                peer.close(time.monotonic())
                self._let_go(peer)
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for future in list(self._waiting):
            if not future.done():
                future.set_exception(UnreachableError("the outbox is closed"))
        await asyncio.gather(*self._closings)
        await self._handling.close()
        if self._ledger is not None:
            await self._ledger.close()
