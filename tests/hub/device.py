"""A device for tests: the real cores of reports and sealed streams on real sockets."""

import asyncio
import os
import time
from collections.abc import Callable

from rookery.fleet.entry import FleetKind, server_id
from rookery.fleet.rendezvous.server_keys import stream_keys
from rookery.fleet.reports.report_sender import ReportSender, SenderCalled, SenderEvent
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.fleet.reports.sender_state import SenderState
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.wire.fleet import messages
from rookery.wire.fleet.telemetry import DeviceReport, Report
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress
from tests.patience import PATIENCE_S

_LIMITS = SenderLimits(resend_s=0.2, resend_max_s=0.5, hello_s=0.2, hello_max_s=0.5, pace_s=0.0)


def path(link: LinkAddress, carrier: str) -> NetPath:
    """Where a hub takes datagrams, or connections."""
    return next(
        each for each in link.paths if isinstance(each, NetPath) and each.kind.startswith(carrier)
    )


async def until(condition: Callable[[], bool]) -> None:
    """Poll, with a bound: what happens at the hub is only seen from outside."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - nothing there to wait for
            await asyncio.sleep(0.005)


class Speaker(asyncio.DatagramProtocol):
    """A sender with its socket and its timer; `async with` one of its subclasses."""

    def __init__(
        self,
        link: LinkAddress,
        identity: Identity,
        sender: bytes,
        kind: FleetKind,
        code: str | None = None,
        state: SenderState | None = None,
        limits: SenderLimits = _LIMITS,
    ) -> None:
        self.link = link
        self.identity = identity
        self.id = sender
        self.core = ReportSender(
            identity,
            link.keys,
            sender,
            kind,
            state or SenderState(),
            time.time_ns() // 1_000_000,
            os.urandom,
            limits,
            code,
        )
        self.events: list[SenderEvent] = []
        self.sent: list[bytes] = []
        self._transport: asyncio.DatagramTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def open(self) -> None:
        to = path(self.link, "udp").address
        self._transport, _ = await self._loop.create_datagram_endpoint(lambda: self, remote_addr=to)
        self._due()  # what was kept

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()

    def send(self, report: Report) -> None:
        self.core.report(report, self._loop.time())
        self._flush()

    async def delivered(self) -> None:
        """Until the hub has acknowledged everything."""
        await until(lambda: self.core.counters.acknowledged == self.core.counters.made)

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.core.received(data, self._loop.time())
        self._flush()

    def error_received(self, exc: Exception) -> None:
        pass  # a hub that is down

    def happened(self, event: SenderEvent) -> None:
        self.events.append(event)

    def _flush(self) -> None:
        assert self._transport is not None
        for datagram in self.core.take():
            self.sent.append(datagram)
            self._transport.sendto(datagram)
        for event in self.core.events():
            self.happened(event)
        if self._timer is not None:
            self._timer.cancel()
        if (deadline := self.core.deadline) is not None:
            self._timer = self._loop.call_at(deadline, self._due)

    def _due(self) -> None:
        self.core.tick(self._loop.time())
        self._flush()


class FakeDevice(Speaker):
    """Reports when told to; goes where it is called when told to."""

    def __init__(
        self,
        link: LinkAddress,
        identity: Identity,
        mac: bytes,
        code: str | None = None,
        state: SenderState | None = None,
    ) -> None:
        super().__init__(link, identity, mac, "router", code, state)
        self.calls: asyncio.Queue[int] = asyncio.Queue()
        self.stream = 0  # as an earlier one says, or 40

    async def __aenter__(self) -> "FakeDevice":
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def happened(self, event: SenderEvent) -> None:
        super().happened(event)
        if isinstance(event, SenderCalled):
            self.calls.put_nowait(event.wish)

    async def report(self, uptime_s: float = 1.0) -> None:
        """Send one and wait until the hub has it."""
        self.send(DeviceReport(t=int(time.time() * 1000), up=uptime_s, stream=self.stream))
        await self.delivered()

    async def called(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            return await self.calls.get()

    async def dial_hub(self, *csids: int) -> SealedConnection:
        where, hub = path(self.link, "tcp"), self.link
        assert hub.hashname is not None
        keys = {csid: hub.keys[csid] for csid in csids or hub.keys}
        return await SealedConnection.dial(
            self.identity, hub.hashname, keys, where.ip, where.port, timeout_s=PATIENCE_S
        )

    async def ask(self, wish: int, *csids: int) -> messages.Message | None:
        """What the hub says to a device that asks for this wish; None if it just closes."""
        line = await self.dial_hub(*csids)
        line.send(messages.encode(messages.AskMessage(wish)))
        try:
            async with asyncio.timeout(PATIENCE_S):
                answer = await line.receive()
        finally:
            line.close()
        return None if answer is None else messages.decode(answer)

    async def arrive(self, direct: messages.DirectMessage) -> messages.Message | None:
        """Go to the server; what that says."""
        server = direct.server
        host, _, port = server.tcp.rpartition(":")
        line = await SealedConnection.dial(
            self.identity,
            server.hashname,
            stream_keys(server),
            host,
            int(port),
            timeout_s=PATIENCE_S,
        )
        line.send(messages.encode(messages.ArriveMessage(direct.seat, direct.ticket)))
        async with asyncio.timeout(PATIENCE_S):
            answer = await line.receive()
        line.close()
        return None if answer is None else messages.decode(answer)


def server_sender(identity: Identity) -> bytes:
    return server_id(identity.hashname)
