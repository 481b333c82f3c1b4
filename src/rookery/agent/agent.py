"""The agent: composition root. Samples, reports, and opens sessions when the hub calls.

sampler ─▶ uplink ─ UDP ─▶ hub          uplink ─ called ─▶ sessions ─ TCP ─▶ hub, server
                                        sessions ─ JSON-RPC ─▶ methods
"""

import asyncio
import logging
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import psutil

from rookery.agent.methods.catalogue import dispatcher
from rookery.agent.methods.config import FILE_NAME, AgentConfig, ConfigFile
from rookery.agent.methods.exec import ExecAllowList
from rookery.agent.sampler import DeviceSampler, NodeLinkSampler
from rookery.agent.session import LIMITS, AgentSession, AgentSessionLimits, AgentSessions
from rookery.errors import UsageError
from rookery.fleet.reports.report_sender import ReportSender, SenderCalled, SenderEvent
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.fleet.reports.sender_state import SenderState
from rookery.identity.identity import Identity
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.fleet.state_file import SenderStateFile
from rookery.runtime.fleet.uplink import Uplink

JITTER = 0.05  # of the interval, so that agents that started together do not stay together

OnSenderEvent = Callable[[SenderEvent], None]

_log = logging.getLogger(__name__)


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of an agent; the first three are required."""

    identity: Identity
    hub: HubAddress
    mac: bytes
    config: AgentConfig = AgentConfig()
    config_folder: Path | None = None  # None: remote changes are lost with the process
    keep: Path | None = None  # keeps unacknowledged reports across restarts
    code: str | None = None  # to enrol with
    allowed: ExecAllowList | None = None
    node: Path | None = None  # folder of a mesh node on this machine
    disk: str = "/"
    reports: SenderLimits = SenderLimits()
    sessions: AgentSessionLimits = LIMITS


class Agent:
    """`async with await Agent.start(settings, on_event) as agent:`, or call `close` yourself."""

    def __init__(self, settings: AgentSettings, on_event: OnSenderEvent) -> None:
        self._settings = settings
        self._on_event = on_event
        folder = settings.config_folder
        self._config = ConfigFile(settings.config, None if folder is None else folder / FILE_NAME)
        self._config.on_change(self._changed)
        self._dispatcher = dispatcher(self._config, settings.allowed or ExecAllowList())
        self._sampler = DeviceSampler(settings.disk)
        self._links = None if settings.node is None else NodeLinkSampler(settings.node)
        self._sessions = AgentSessions(self._session, settings.sessions)
        self._uplink: Uplink | None = None
        self._sampling: asyncio.Task[None] | None = None
        self._is_due = asyncio.Event()

    @classmethod
    async def start(cls, settings: AgentSettings, on_event: OnSenderEvent) -> Self:
        """Begin to report; `on_event` is called with the sender's events."""
        agent = cls(settings, on_event)
        file = None if settings.keep is None else SenderStateFile(settings.keep)
        sender = ReportSender(
            settings.identity,
            settings.hub.keys,
            settings.mac,
            "router",
            SenderState() if file is None else file.load(),
            time.time_ns() // 1_000_000,
            os.urandom,
            settings.reports,
            settings.code,
        )
        agent._uplink = await Uplink.open(sender, settings.hub, agent._event_received, file)
        agent._sampling = asyncio.get_running_loop().create_task(agent._sample(agent._uplink))
        return agent

    async def wait(self) -> None:
        """Wait until it is closed or fails."""
        assert self._sampling is not None
        await self._sampling

    async def close(self) -> None:
        if self._sampling is not None:
            self._sampling.cancel()
            await asyncio.gather(self._sampling, return_exceptions=True)
        await self._sessions.close()
        if self._uplink is not None:
            await self._uplink.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def sessions(self) -> AgentSessions:
        return self._sessions

    @property
    def waiting(self) -> int:
        """Reports that the hub does not have yet."""
        return 0 if self._uplink is None else self._uplink.waiting

    def sample_now(self) -> None:
        """Report without waiting for the interval to pass."""
        self._is_due.set()

    def _session(self, wish: int) -> AgentSession:
        settings = self._settings
        return AgentSession(
            settings.identity, settings.hub, self._dispatcher, wish, settings.sessions
        )

    def _event_received(self, event: SenderEvent) -> None:
        if isinstance(event, SenderCalled):
            self._sessions.called(event.wish)
        self._on_event(event)

    def _changed(self, _config: AgentConfig) -> None:
        self.sample_now()

    async def _sample(self, uplink: Uplink) -> None:
        while True:
            try:
                links = () if self._links is None else await self._links.sample()
                uplink.report(self._sampler.sample(links))
            except (OSError, psutil.Error, UsageError) as error:  # the next one may succeed
                _log.warning("there is no sample: %s", error)
            self._is_due.clear()
            interval_s = self._config.config.interval_s
            spread = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 (no secret)
            try:
                async with asyncio.timeout(interval_s * spread):
                    await self._is_due.wait()
            except TimeoutError:
                continue
