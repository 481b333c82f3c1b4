"""`system.*` tells what the machine really is."""

import os
import platform

import psutil

from rookery.agent.methods import system


async def test_info_is_of_this_machine() -> None:
    info = await system.info()
    assert info.host == platform.node()
    assert info.memory_total == psutil.virtual_memory().total
    assert 0 < info.memory_available <= info.memory_total
    assert 0 < info.disk_free < info.disk_total
    assert info.processors >= 1


async def test_uptime_is_longer_for_the_machine_than_for_the_agent() -> None:
    uptime = await system.uptime()
    assert uptime.machine_s >= uptime.agent_s >= 0
    assert len(uptime.load) == 3


async def test_processes_are_ordered_and_limited() -> None:
    rows = await system.processes(limit=200)
    own = next(row for row in rows if row.pid == os.getpid())
    assert own.memory > 1 << 20
    assert [row.memory for row in rows] == sorted((row.memory for row in rows), reverse=True)
    newest, *others = await system.processes(limit=2, order="newest")
    assert all(newest.started_at >= other.started_at for other in others)
    assert len(await system.processes(limit=1, order="cpu")) == 1
