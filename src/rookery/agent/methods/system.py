"""`system.*`: the machine, how long it has been up, and what runs on it."""

import asyncio
import platform
import time
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
import psutil
from msgspec import Meta

from rookery.runtime.version import installed_version

PROCESSES_MAX = 200
COMMAND_SIZE_MAX = 200

Count = Annotated[int, Meta(ge=1, le=PROCESSES_MAX)]
Order = Literal["memory", "cpu", "newest"]


class SystemInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The machine as a whole; sizes in bytes."""

    host: str
    system: str
    release: str
    machine: str
    processors: int
    memory_total: int
    memory_available: int
    disk_total: int
    disk_free: int
    agent_version: str
    python_version: str
    wall_ms: int


class Uptime(msgspec.Struct, frozen=True, kw_only=True):
    """How long the machine and the agent have been running, and how busy the machine is."""

    machine_s: float
    agent_s: float
    load: tuple[float, float, float]  # over 1, 5 and 15 minutes


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """One process; `memory` is what it holds resident, in bytes."""

    pid: int
    name: str
    user: str
    state: str
    memory: int
    cpu_s: float
    started_at: float  # Unix seconds
    command: str


async def info() -> SystemInfo:
    """The machine: its name, system and size, and the agent's version."""
    memory, disk = psutil.virtual_memory(), psutil.disk_usage("/")
    return SystemInfo(
        host=platform.node(),
        system=platform.system(),
        release=platform.release(),
        machine=platform.machine(),
        processors=psutil.cpu_count() or 1,
        memory_total=memory.total,
        memory_available=memory.available,
        disk_total=disk.total,
        disk_free=disk.free,
        agent_version=installed_version(),
        python_version=platform.python_version(),
        wall_ms=round(time.time() * 1000),
    )


async def uptime() -> Uptime:
    """How long the machine and the agent have been up, and the load averages."""
    now = time.time()
    return Uptime(
        machine_s=round(max(now - psutil.boot_time(), 0.0), 1),
        agent_s=round(max(now - psutil.Process().create_time(), 0.0), 1),
        load=psutil.getloadavg(),
    )


async def processes(limit: Count = 20, order: Order = "memory") -> list[ProcessRow]:
    """The processes that hold most memory, used most processor time, or began last."""
    found = await asyncio.to_thread(_all_processes)
    return sorted(found, key=_ORDERS[order], reverse=True)[:limit]


def _all_processes() -> list[ProcessRow]:
    found = (_row(process) for process in psutil.process_iter())
    return [row for row in found if row is not None]


def _row(process: psutil.Process) -> ProcessRow | None:
    try:
        with process.oneshot():
            times = process.cpu_times()
            return ProcessRow(
                pid=process.pid,
                name=process.name(),
                user=process.username(),
                state=str(process.status()),
                memory=process.memory_info().rss,
                cpu_s=round(times.user + times.system, 2),
                started_at=process.create_time(),
                command=" ".join(process.cmdline())[:COMMAND_SIZE_MAX],
            )
    except psutil.Error:  # it has ended meanwhile, or is hidden from us
        return None


_ORDERS: dict[Order, Callable[[ProcessRow], float]] = {
    "memory": lambda row: row.memory,
    "cpu": lambda row: row.cpu_s,
    "newest": lambda row: row.started_at,
}
