"""The UDP shell of a sender: sends what it wants sent, feeds it what comes, wakes it in time.

    reports ─▶ Sender ─ datagrams ─▶ socket ─▶ hub
    events  ◀─ Sender ◀─ datagrams ─ socket ◀─ hub

The network may come and go. While the hub is silent its name is looked up again and again, its
addresses are tried in turn, and each time by a new socket.
"""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from typing import Self

from rookery.errors import UnreachableError
from rookery.fleet.reports.report_sender import ReportSender, SenderCalled, SenderEvent
from rookery.runtime.fleet.hub_address import HubAddress, HubSocketAddress
from rookery.runtime.fleet.state_file import SenderStateFile
from rookery.wire.fleet.telemetry import Report

SILENT_S = 15.0  # without a word, although something was said
KEEP_S = 60.0  # between two writes of reports that the hub does not have

_ANY = {socket.AF_INET: "0.0.0.0", socket.AF_INET6: "::"}  # noqa: S104 (answers come back here)

OnSenderEvent = Callable[[SenderEvent], None]

_log = logging.getLogger(__name__)


class Uplink(asyncio.DatagramProtocol):
    """Feeds the sender bytes and time; make it with `open`."""

    def __init__(
        self,
        sender: ReportSender,
        hub: HubAddress,
        on_event: OnSenderEvent,
        file: SenderStateFile | None,
    ) -> None:
        self._sender = sender
        self._hub = hub
        self._on_event = on_event
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.DatagramTransport | None = None
        self._place: HubSocketAddress | None = None
        self._places: list[HubSocketAddress] = []
        self._unanswered_since: float | None = None  # first unanswered message
        self._timer: asyncio.TimerHandle | None = None
        self._finding: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._is_closed = False
        self.tally: Counter[str] = Counter()

    @classmethod
    async def open(
        cls,
        sender: ReportSender,
        hub: HubAddress,
        on_event: OnSenderEvent,
        file: SenderStateFile | None = None,
        keep_s: float = KEEP_S,
    ) -> Self:
        """Begin; a hub that cannot be found yet is looked for as long as it takes."""
        uplink = cls(sender, hub, on_event, file)
        await uplink._find()
        if file is not None:
            uplink._keeping = uplink._loop.create_task(uplink._keep_on(file, keep_s))
        uplink._pump()
        return uplink

    @property
    def place(self) -> HubSocketAddress | None:
        """Where the hub is thought to be."""
        return self._place

    @property
    def waiting(self) -> int:
        """Reports that the hub does not have yet."""
        return self._sender.waiting

    def report(self, report: Report) -> None:
        """Have this reach the hub; UsageError when it is too large."""
        self._sender.report(report, self._loop.time())
        self._pump()

    async def close(self) -> None:
        """What the hub does not have by now is kept in the file, if there is one."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = [task for task in (self._finding, self._keeping) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._transport is not None:
            self._transport.close()
        if self._file is not None:
            self._file.save(self._sender.state)

    # What the event loop calls.

    def datagram_received(self, data: bytes, addr: tuple[str | int, ...]) -> None:
        if self._place is None or addr[:2] != self._place:
            self.tally["stranger"] += 1
            return
        self.tally["received"] += 1
        self._unanswered_since = None
        self._sender.received(data, self._loop.time())
        self._pump()

    def error_received(self, exc: Exception) -> None:
        self.tally["error"] += 1  # the network is away; the sender sends again by itself

    def _tick(self) -> None:
        self._timer = None
        self._sender.tick(self._loop.time())
        self._pump()

    def _pump(self) -> None:
        if self._is_closed:
            return
        for datagram in self._sender.take():
            self._send(datagram)
        self._look_after_silence()
        for event in self._sender.events():
            if self._file is not None and not isinstance(event, SenderCalled):
                self._file.save(self._sender.state)
            self._on_event(event)
        self._rearm()

    def _send(self, datagram: bytes) -> None:
        if self._unanswered_since is None:
            self._unanswered_since = self._loop.time()
        if self._transport is None or self._place is None:
            self.tally["nowhere"] += 1
            return
        self.tally["sent"] += 1
        try:
            self._transport.sendto(datagram, self._place)
        except OSError:  # uvloop says so at once
            self.tally["error"] += 1

    def _look_after_silence(self) -> None:
        if self._unanswered_since is None or self._loop.time() < self._unanswered_since + SILENT_S:
            return
        if self._finding is None or self._finding.done():
            self._unanswered_since = self._loop.time()
            self._finding = self._loop.create_task(self._find())

    def _rearm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._sender.deadline
        if deadline is not None:
            self._timer = self._loop.call_at(deadline, self._tick)

    async def _find(self) -> None:
        """The next of the hub's addresses, and a new socket towards it."""
        try:
            if not self._places:
                self._places = await self._hub.udp()
            place = self._places.pop(0)
            transport = await self._new_socket(place)
        except (UnreachableError, OSError) as error:
            self.tally["lost"] += 1
            _log.info("the hub cannot be found: %s", error)
            return
        if self._transport is not None:
            self._transport.close()
        self._transport, self._place = transport, place

    async def _new_socket(self, place: HubSocketAddress) -> asyncio.DatagramTransport:
        family = socket.AF_INET6 if ":" in place.ip else socket.AF_INET
        transport, _ = await self._loop.create_datagram_endpoint(
            lambda: self, local_addr=(_ANY[family], 0), family=family
        )
        return transport

    async def _keep_on(self, file: SenderStateFile, keep_s: float) -> None:
        """Write now and then what would be lost with the power."""
        while True:
            await asyncio.sleep(keep_s)
            file.save(self._sender.state)
