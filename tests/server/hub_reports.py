"""A hub's UDP side made of the core: enrols, acknowledges, and remembers what was reported."""

import asyncio
import os
import time
from typing import Self

from rookery.fleet.enrolment import secrets
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.datagrams import NO_CODE_ID
from rookery.wire.fleet.telemetry import CallReport, LoadReport, SessionReport
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from rookery.wire.observation import Observation
from tests.server.world import HUB


class FakeReportHub(asyncio.DatagramProtocol):
    """Make it with `open`."""

    def __init__(self) -> None:
        self._validator = ReportValidator(HUB, bytes(32), os.urandom, time.time())
        self._codes: dict[bytes, EnrolmentCode] = {}
        self._transport: asyncio.DatagramTransport | None = None
        self.entries: dict[bytes, FleetEntry] = {}
        self.loads: list[LoadReport] = []
        self.calls: list[CallReport] = []
        self.sessions: list[SessionReport] = []
        self.is_silent = False
        self._closed = asyncio.Event()

    @classmethod
    async def open(cls) -> Self:
        loop = asyncio.get_running_loop()
        transport, hub = await loop.create_datagram_endpoint(cls, local_addr=("127.0.0.1", 0))
        hub._transport = transport
        return hub

    @property
    def link(self) -> LinkAddress:
        assert self._transport is not None
        port: int = self._transport.get_extra_info("sockname")[1]
        paths = (net_path("udp", "127.0.0.1", port), net_path("tcp", "127.0.0.1", port))
        return LinkAddress(HUB.hashname, dict(HUB.keys), paths)

    @property
    def address(self) -> HubAddress:
        return HubAddress(self.link)

    def code(self) -> str:
        """A new one for a server."""
        made = secrets.new_code(os.urandom)
        key = secrets.code_key(made)
        id_ = secrets.code_id(key)
        self._codes[id_] = EnrolmentCode(
            id=id_, key=key, kind="server", owner=1, expires_at=time.time() + 60
        )
        return made

    async def close(self) -> None:
        assert self._transport is not None
        self._transport.close()
        await self._closed.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        now = time.time()
        incoming = self._validator.read(data, f"{addr[0]}:{addr[1]}", now)
        if incoming is None or self.is_silent:
            return
        code = self._codes.get(incoming.code_id or NO_CODE_ID)
        entry = self.entries.get(incoming.sender)
        outcome = self._validator.receive(incoming, entry, code, None, now)
        if outcome.changed is not None:
            self.entries[incoming.sender] = outcome.changed
        if outcome.spool is not None:
            self._remember(telemetry.decode(Observation.parse(outcome.spool).content))
        for answer in (outcome.answer_now, outcome.answer_durable):
            if answer:
                self._transport.sendto(answer, addr)

    def _remember(self, report: telemetry.Report) -> None:
        if isinstance(report, LoadReport):
            self.loads.append(report)
        elif isinstance(report, CallReport):
            self.calls.append(report)
        elif isinstance(report, SessionReport):
            self.sessions.append(report)
