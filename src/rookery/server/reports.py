"""Reports of a server: its load every so often, each call that it relayed, each seat that ended.

Those may be many, and the hub takes reports at its own pace. So they wait here, and the sender
gets a few at a time: the load, on which the hub relies, is never far back in the queue.
"""

import asyncio
import logging
import os
import random
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Self

import msgspec

from rookery.fleet.entry import server_id
from rookery.fleet.reports.report_sender import (
    HelloRefused,
    ReportSender,
    SenderEnrolled,
    SenderEvent,
)
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.fleet.rpc.relay import RelayedCall
from rookery.identity.identity import Identity
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.fleet.state_file import SenderStateFile
from rookery.runtime.fleet.uplink import Uplink
from rookery.server.seat_sessions import EndedSession
from rookery.wire.fleet.telemetry import CallReport, LoadReport, SessionReport

AUDITS_MAX = 10_000  # calls and seats that wait; the oldest are dropped and counted
AHEAD_MAX = 32  # reports that the hub does not have, before more audits join them

# A server has more to report than a device, and there are few servers.
_LIMITS = SenderLimits(kept_max=2 * AUDITS_MAX, in_flight_max=16, pace_s=0.002)
_JITTER = 0.05  # of the interval
_AUDIT_S = 0.05  # between looks at whether the hub has taken some
_LAST_LOOKS = 10  # at whether the hub has the last of them
_METHOD_SIZE_MAX, _CLIENT_SIZE_MAX = 64, 256

Sample = Callable[[], LoadReport]

_log = logging.getLogger(__name__)


class ServerReports:
    """Keeps reporting until it is closed; make it with `open`."""

    def __init__(
        self, server: str, sender: ReportSender, sample: Sample, interval_s: float
    ) -> None:
        self._server = server  # hashname
        self._sender = sender
        self._sample = sample
        self._interval_s = interval_s
        self._uplink: Uplink | None = None
        self._audits: deque[CallReport | SessionReport] = deque()
        self._is_waiting = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.tally: Counter[str] = Counter()

    @classmethod
    async def open(
        cls,
        identity: Identity,
        hub: HubAddress,
        folder: Path,
        code: str | None,
        sample: Sample,
        interval_s: float,
    ) -> Self:
        """Begin to report; what the hub has not acknowledged is kept in the folder."""
        file = SenderStateFile(folder)
        sender = ReportSender(
            identity,
            hub.keys,
            server_id(identity.hashname),
            "server",
            file.load(),
            time.time_ns() // 1_000_000,
            os.urandom,
            _LIMITS,
            code,
        )
        reports = cls(identity.hashname, sender, sample, interval_s)
        reports._uplink = await Uplink.open(sender, hub, reports._on_event, file)
        loop = asyncio.get_running_loop()
        reports._tasks = [
            loop.create_task(reports._report_load(reports._uplink)),
            loop.create_task(reports._report_audits(reports._uplink)),
        ]
        return reports

    @property
    def is_enrolled(self) -> bool:
        """Whether the hub knows this server."""
        return self._sender.is_enrolled

    @property
    def waiting(self) -> int:
        """Audits that the hub does not have, as far as they are here."""
        return len(self._audits)

    def audit(self, seat: str, audit: RelayedCall) -> None:
        """Report a call that was relayed."""
        self.tally["audits"] += 1
        self._add(
            CallReport(
                t=_wall_ms(),
                who=audit.client[:_CLIENT_SIZE_MAX],
                router=audit.device,
                method=audit.method[:_METHOD_SIZE_MAX],
                ms=audit.ms,
                code=audit.code,
                seat=seat,
            )
        )

    def ended(self, ended: EndedSession) -> None:
        """Report a session that ended, for the lake."""
        self.tally["sessions"] += 1
        now = _wall_ms()
        self._add(
            SessionReport(
                t=now,
                seat=ended.seat,
                who=ended.client[:_CLIENT_SIZE_MAX],
                router=ended.device,
                server=self._server,
                opened_at=max(now - round(ended.seconds * 1000), 0),
                closed_at=now,
                reason=ended.reason,
                sent_bytes=ended.sent_bytes,
                received_bytes=ended.received_bytes,
            )
        )

    def _add(self, report: CallReport | SessionReport) -> None:
        if len(self._audits) == AUDITS_MAX:
            self._audits.popleft()
            self.tally["dropped"] += 1
        self._audits.append(report)
        self._is_waiting.set()

    async def close(self) -> None:
        """Report that there are no seats any more; pending audits are kept for the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._uplink is None:
            return
        while self._audits:
            self._uplink.report(self._audits.popleft())
        self._uplink.report(msgspec.structs.replace(self._sample(), seats_max=0))
        for _ in range(_LAST_LOOKS):
            if not self.is_enrolled or not self._sender.state.kept:
                break
            await asyncio.sleep(_AUDIT_S)
        await self._uplink.close()

    def _on_event(self, event: SenderEvent) -> None:
        match event:
            case SenderEnrolled():
                _log.info("the hub knows this server")
            case HelloRefused(reason):
                self.tally[f"refused {reason}"] += 1
                _log.warning("the hub refuses this server: %s", reason)
            case _:
                pass

    async def _report_load(self, uplink: Uplink) -> None:
        while True:
            uplink.report(self._sample())
            self.tally["loads"] += 1
            spread = random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 (no secret)
            await asyncio.sleep(self._interval_s * spread)

    async def _report_audits(self, uplink: Uplink) -> None:
        while True:
            await self._is_waiting.wait()
            while self._audits and self._sender.waiting < AHEAD_MAX:
                uplink.report(self._audits.popleft())
            if self._audits:
                await asyncio.sleep(_AUDIT_S)
            else:
                self._is_waiting.clear()


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
