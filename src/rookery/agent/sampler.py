"""Samples the device and the links of its mesh node: current values that fit one datagram."""

import logging
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from rookery.agent.wireless import signal_dbm
from rookery.errors import RookeryError, UsageError
from rookery.identity.cs40 import CSID as ROOKERY_CSID
from rookery.runtime.version import installed_version
from rookery.wire.fleet.telemetry import DeviceReport, InterfaceCounters, LinkTelemetry

INTERFACES_MAX = 12
LINKS_MAX = 16

_NAME_SIZE_MAX = 64
_DEGREES_MIN, _DEGREES_MAX = -100.0, 300.0  # beyond are sensors that are not there


class DeviceSampler:
    """Reads what changes; what does not is read once."""

    def __init__(self, disk: str = "/") -> None:
        try:
            psutil.disk_usage(disk)
        except OSError as error:
            raise UsageError(f"nothing is known of the disk at {disk}: {error.strerror}") from error
        self._disk = disk
        self._agent = installed_version()[:_NAME_SIZE_MAX]
        self._system = f"{platform.system()} {platform.release()}"[:_NAME_SIZE_MAX]

    def sample(self, links: Sequence[LinkTelemetry] = ()) -> DeviceReport:
        """The device's current values, with the links that its mesh node measured."""
        now = time.time()
        return DeviceReport(
            stream=ROOKERY_CSID,
            t=max(round(now * 1000), 0),
            up=round(max(now - psutil.boot_time(), 0.0), 1),
            load=round(psutil.getloadavg()[0], 2),
            mem=_share(psutil.virtual_memory().percent),
            disk=_share(psutil.disk_usage(self._disk).percent),
            temp=_temperature(),
            signal=signal_dbm(),
            ifs=_interfaces(),
            links=tuple(links[:LINKS_MAX]),
            agent=self._agent,
            system=self._system,
        )


def _share(percent: float) -> float:
    return round(min(max(percent / 100, 0.0), 1.0), 4)


def _temperature() -> float | None:
    """The hottest of what the device has, where it has any."""
    try:
        groups = psutil.sensors_temperatures()
    except (AttributeError, OSError):  # none on this system, or hidden from us
        return None
    found = [sensor.current for group in groups.values() for sensor in group]
    plausible = [degrees for degrees in found if _DEGREES_MIN < degrees < _DEGREES_MAX]
    return round(max(plausible), 1) if plausible else None


def _interfaces() -> dict[str, InterfaceCounters]:
    """The busiest first, as the last ones are left out where a report gets too long."""
    counted = psutil.net_io_counters(pernic=True)
    used = [name for name in counted if counted[name].bytes_recv or counted[name].bytes_sent]
    used.sort(key=lambda name: counted[name].bytes_recv + counted[name].bytes_sent, reverse=True)
    used.sort(key=lambda name: name == "lo")  # which matters least, however busy
    return {
        name[:_NAME_SIZE_MAX]: InterfaceCounters(
            received_bytes=counted[name].bytes_recv,
            sent_bytes=counted[name].bytes_sent,
            received_packets=counted[name].packets_recv,
            sent_packets=counted[name].packets_sent,
            errors=counted[name].errin + counted[name].errout,
            drops=counted[name].dropin + counted[name].dropout,
        )
        for name in used[:INTERFACES_MAX]
    }


TIMEOUT_S = 2.0

_BITS = 8
_log = logging.getLogger(__name__)


class NodeLinkSampler:
    """The control socket of one node; one that is away has no links to tell of."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_away = False

    async def sample(self) -> tuple[LinkTelemetry, ...]:
        """What it measured, the links in use first."""
        # Imported here, as few agents have a mesh node on their machine, and it takes megabytes.
        from rookery.runtime.control.client import connected
        from rookery.runtime.control.messages import ControlCommand, ControlRequest
        from rookery.runtime.control.server import FILE_NAME
        from rookery.runtime.node.snapshot import PeerRow

        try:
            async with connected(self._folder / FILE_NAME, TIMEOUT_S) as node:
                peers = await node.all(ControlRequest(do=ControlCommand.PEERS), PeerRow)
        except RookeryError as error:
            if not self._is_away:
                _log.warning("no links of a node: %s", error)
            self._is_away = True
            return ()
        self._is_away = False
        return tuple(
            LinkTelemetry(
                peer=peer.node.hashname,
                path=peer.used.transport if peer.used is not None else "",
                rtt_ms=round(peer.rtt_ms, 3),
                loss=round(max(peer.loss_in or 0.0, peer.loss_out or 0.0), 4),
                rate_kbps=round((peer.rate_bytes_s or 0) * _BITS / 1000, 1),
            )
            for peer in sorted(peers, key=lambda peer: peer.used is None)
            if peer.rtt_ms is not None
        )
