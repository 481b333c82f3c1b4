"""A hub, as a process, whose spool is on a disk that is full: run in a mount namespace of its own.

    unshare -Urm python -m tests.hub.reports.full_disk FOLDER

Prints, as JSON, what was acknowledged while the disk filled up, while it was full and after there
was room again, what the spool has of it in the end, and what the hub said.
"""

import asyncio
import json
import os
import subprocess
import sys
from asyncio.subprocess import Process
from pathlib import Path

from rookery.store.spool.reader import SpoolReader
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import DeviceReport, InterfaceCounters
from rookery.wire.link.uri import LinkAddress
from rookery.wire.observation import DEVICE, Observation
from tests.hub.device import FakeDevice, until
from tests.hub.identities import identity, mac
from tests.patience import PATIENCE_S

DISK_KB = 512
BALLAST_KB = 256
REPORTS = 400  # of about a kilobyte

_LARGE = DeviceReport(
    t=1, ifs={f"interface-{n}": InterfaceCounters(*[2**40] * 6) for n in range(14)}
)


async def story(data: Path) -> dict[str, object]:
    spool = data / "spool"
    (spool / "ballast").write_bytes(os.urandom(BALLAST_KB << 10))
    program = [sys.executable, "-c", "from rookery.cli.main import run; run()", "hub"]
    options = ["--data", str(data), "--http", "none", "--policy", "open"]
    options += ["--udp", "127.0.0.1:0", "--tcp"]
    said = data / "said"
    with said.open("wb") as errors:
        hub = await asyncio.create_subprocess_exec(
            *program, *options, "127.0.0.1:0", stdout=subprocess.PIPE, stderr=errors
        )
    try:
        return await _siege(hub, spool, said)
    finally:
        if hub.returncode is None:
            hub.kill()
            await hub.wait()


async def _siege(hub: Process, spool: Path, said: Path) -> dict[str, object]:
    ballast = spool / "ballast"
    assert hub.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        link = LinkAddress.of_json(json.loads(await hub.stdout.readline()))
    text = said.read_text
    async with FakeDevice(link, identity("alice"), mac(1)) as device:
        counters = device.core.counters
        for _ in range(REPORTS):
            device.send(_LARGE)
        await until(lambda: "is full" in text())
        full = counters.acknowledged
        ballast.unlink()
        await until(lambda: counters.acknowledged > full + 10)
        waiting = {telemetry.decode(each.content).n for each in device.core.state.kept}
        acknowledged = set(range(1, counters.made + 1)) - waiting
    hub.terminate()
    async with asyncio.timeout(PATIENCE_S):
        code = await hub.wait()
    found = [Observation.parse(each.data) for each in SpoolReader(spool)]
    kept = {telemetry.decode(each.content).n for each in found if each.kind == DEVICE}
    return {
        "code": code,
        "full": full,
        "acknowledged": len(acknowledged),
        "lost": sorted(acknowledged - kept),
        "said": text(),
    }


def mounted(data: Path) -> Path:
    """With a small disk of its own for the spool."""
    spool = data / "spool"
    spool.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_KB}k", "none", spool], check=True)
    return data


if __name__ == "__main__":
    json.dump(asyncio.run(story(mounted(Path(sys.argv[1])))), sys.stdout)
