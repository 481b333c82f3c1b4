"""A hub of cores and sockets: takes reports, calls devices, sends them on; may go and come back."""

import asyncio
import os
import time
from types import TracebackType
from typing import Self

from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.messages import AskMessage, FaultCode, FaultMessage, Message, decode, encode
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from rookery.wire.observation import Observation
from tests.agent.identities import identity


class SmallHub(asyncio.DatagramProtocol):
    """`async with SmallHub() as hub:`; its ports stay the same while it is away."""

    def __init__(
        self,
        settings: ReportValidatorSettings = ReportValidatorSettings(policy="open"),  # noqa: B008 (frozen)
    ) -> None:
        self.identity = identity("hub")
        self.master = os.urandom(32)
        self.settings = settings
        self.entries: dict[bytes, FleetEntry] = {}
        self.codes: dict[bytes, EnrolmentCode] = {}
        self.wishes: dict[bytes, int] = {}  # by MAC
        self.reports: list[telemetry.Report] = []
        self.asks: list[AskMessage] = []
        self.answers: list[Message | None] = []  # to the asks, in order; None: closes
        self.is_deaf = False
        self.skew_s = 0.0  # of its clock
        self._validator = self._new_validator()
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.udp_port = self.tcp_port = 0

    @property
    def transport(self) -> asyncio.DatagramTransport | None:
        return self._udp

    @property
    def validator(self) -> ReportValidator:
        return self._validator

    @property
    def link(self) -> LinkAddress:
        paths = (
            net_path("udp", "127.0.0.1", self.udp_port),
            net_path("tcp", "127.0.0.1", self.tcp_port),
        )
        return LinkAddress(self.identity.hashname, dict(self.identity.keys), paths)

    @property
    def address(self) -> HubAddress:
        return HubAddress(self.link)

    async def __aenter__(self) -> Self:
        await self.come()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.go()

    async def come(self) -> None:
        """Listen, where it did before if it did."""
        loop = asyncio.get_running_loop()
        self._udp, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=("127.0.0.1", self.udp_port)
        )
        self._tcp = await loop.create_server(self._accept, "127.0.0.1", self.tcp_port)
        self.udp_port = self._udp.get_extra_info("sockname")[1]
        self.tcp_port = self._tcp.sockets[0].getsockname()[1]

    async def go(self) -> None:
        """Be away; what it knows it still knows when it comes back."""
        if self._udp is not None:
            self._udp.close()
        if self._tcp is not None:
            self._tcp.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def forget(self) -> None:
        """As a hub whose stores and secrets are all gone."""
        self.entries.clear()
        self.master = os.urandom(32)
        self._validator = self._new_validator()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self.is_deaf or self._udp is None:
            return
        now = time.time() + self.skew_s
        incoming = self._validator.read(data, f"{addr[0]}:{addr[1]}", now)
        if incoming is None:
            return
        code = self.codes.get(incoming.code_id or b"")
        wish = self.wishes.get(incoming.sender)
        entry = self.entries.get(incoming.sender)
        outcome = self._validator.receive(incoming, entry, code, wish, now)
        if outcome.changed is not None:
            self.entries[incoming.sender] = outcome.changed
        if outcome.spool is not None:
            self.reports.append(telemetry.decode(Observation.parse(outcome.spool).content))
        for answer in (outcome.answer_now, outcome.answer_durable):
            if answer:
                self._udp.sendto(answer, addr)

    def _new_validator(self) -> ReportValidator:
        return ReportValidator(self.identity, self.master, os.urandom, time.time(), self.settings)

    def _accept(self) -> SealedConnection:
        line = SealedConnection.accept(self.identity)
        task = asyncio.get_running_loop().create_task(self._serve(line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return line

    async def _serve(self, line: SealedConnection) -> None:
        try:
            tlv = await line.receive()
            if tlv is not None:
                ask = decode(tlv)
                assert isinstance(ask, AskMessage)
                self.asks.append(ask)
                missing = FaultMessage(FaultCode.NO_WISH, "nobody wishes for you")
                answer = self.answers.pop(0) if self.answers else missing
                if answer is not None:
                    line.send(encode(answer))
        finally:
            line.close()
            await line.wait_closed()
