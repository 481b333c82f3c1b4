"""`rookery fleet simulate`: many devices that report to a hub with real packets.

Without --hub a hub is started on this machine, for as long as the simulation runs.
"""

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import psutil
from cyclopts import Parameter

from rookery.agent.simulated_fleet import SimulatedFleet, SimulatedFleetStatus
from rookery.cli import extras
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_service
from rookery.cli.terminal.exit_codes import FAILED, OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json, remark
from rookery.errors import UnreachableError, UsageError
from rookery.fleet.enrolment.secrets import code_key
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.wire.link.uri import LinkAddress

DEVICES_MAX = 1_000_000
SERVERS_MAX = 1000
SHOWN_S = 1.0
SETTLE_S = 10.0
START_S = 30.0
CODE_S = 3600.0

_LINE_SIZE_MAX = 1 << 16


def simulate(
    *,
    devices: Annotated[int, Parameter(name="--routers", help="How many devices report.")] = 100,
    servers: Annotated[
        int, Parameter(name="--servers", help="How many servers report as well, all of them full.")
    ] = 0,
    hub: Annotated[
        str | None,
        Parameter(name="--hub", help="LINK of a hub to report to; else one is started for it."),
    ] = None,
    codes: Annotated[
        Path | None,
        Parameter(
            name="--code-file",
            help="File with a code for each server, one a line, for --servers of another hub.",
        ),
    ] = None,
    interval_s: Annotated[
        float, Parameter(name="--interval", help="Seconds between two reports of each.")
    ] = 20.0,
    seconds: Annotated[
        float | None, Parameter(name="--seconds", help="How long; else until stopped.")
    ] = None,
    output: Output = OUTPUT,
) -> int:
    _check(devices, servers, interval_s, seconds)
    known = None if hub is None else HubAddress(parse_target(hub))
    provided_codes = [] if codes is None else _read_codes(codes)
    if known is not None and len(provided_codes) < servers:
        raise UsageError(f"{servers} servers need as many codes; give them by --code-file")
    if known is None:
        extras.need("a hub of its own", extras.HUB, "hub")

    async def work() -> int:
        async with _hub(known, servers) as started:
            server_codes = provided_codes[:servers] if known is not None else started.codes
            fleet = await SimulatedFleet.start(started.address, devices, server_codes, interval_s)
            try:
                return await _watch(fleet, seconds, started.process, output)
            finally:
                await fleet.close()

    return run_service(work())


async def _watch(
    fleet: SimulatedFleet, seconds: float | None, process: psutil.Process | None, output: Output
) -> int:
    """Figures every second, and once all is settled; exit code 1 when reports are missing."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while seconds is None or loop.time() - began < seconds:
        left_s = SHOWN_S if seconds is None else began + seconds - loop.time()
        await asyncio.sleep(max(min(SHOWN_S, left_s), 0.0))
        _show(fleet.status(), loop.time() - began, process, output, is_last=False)
    took_s = loop.time() - began
    await fleet.settle(SETTLE_S)
    status = fleet.status()
    _show(status, took_s, process, output, is_last=True)
    return OK if status.enrolled == status.members and not status.waiting else FAILED


def _show(
    status: SimulatedFleetStatus,
    took_s: float,
    process: psutil.Process | None,
    output: Output,
    *,
    is_last: bool,
) -> None:
    if output.json:
        more = {} if process is None else _burden(process)
        name = "result" if is_last else "figures"
        print_json({"is": name, "seconds": round(took_s, 2), **status._asdict(), **more})
    elif is_last:
        print_fields([("seconds", round(took_s, 1)), *status._asdict().items()])
    else:
        remark(
            f"{took_s:5.0f} s  enrolled {status.enrolled} of {status.members}, "
            f"reporting {status.reporting}, acknowledged {status.acknowledged} of "
            f"{status.made}, resent {status.resent}, lost {status.lost}"
        )


def _burden(process: psutil.Process) -> dict[str, object]:
    """Processor time and memory of the hub that was started for this."""
    try:
        times = process.cpu_times()
        return {
            "hub_cpu_s": round(times.user + times.system, 2),
            "hub_memory": process.memory_info().rss,
        }
    except psutil.Error:
        return {}


class _SimulationHub(NamedTuple):
    """The hub that is reported to; process and codes only of one that we started."""

    address: HubAddress
    process: psutil.Process | None = None
    codes: list[str] = []  # noqa: RUF012 (never changed)


@asynccontextmanager
async def _hub(known: HubAddress | None, servers: int) -> AsyncIterator[_SimulationHub]:
    """The hub that was named, or one of our own in a temporary folder."""
    if known is not None:
        yield _SimulationHub(known)
        return
    with tempfile.TemporaryDirectory(prefix="rookery-") as folder:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from rookery.cli.main import run; run()"),
            *("hub", "--data", folder, "--http", "none", "--policy", "open"),
            *("--udp", "127.0.0.1:0", "--tcp", "127.0.0.1:0"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE_SIZE_MAX,
        )
        try:
            address = await _first_line(process)
            codes = await _server_codes(Path(folder), servers) if servers else []
            yield _SimulationHub(address, psutil.Process(process.pid), codes)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.communicate()


async def _server_codes(folder: Path, count: int) -> list[str]:
    """Codes in the database of a hub of our own."""
    from rookery.cli.fleet.hub_database import HubDatabaseOptions, hub_database
    from rookery.store.fleet.codes import EnrolmentCodes
    from rookery.web.devices.enrolment_codes import add_code

    codes = []
    async with hub_database(HubDatabaseOptions(data=folder)) as database:
        for _ in range(count):
            code, _ = await add_code(
                EnrolmentCodes(database), "server", None, now=time.time(), seconds=CODE_S
            )
            codes.append(code)
    return codes


async def _first_line(process: asyncio.subprocess.Process) -> HubAddress:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            line = await process.stdout.readline()
    except TimeoutError as error:
        raise UnreachableError(f"the hub says nothing for {START_S:g} s") from error
    if not line:
        raise UnreachableError("the hub did not start; try: rookery hub --data DIR")
    return HubAddress(LinkAddress.parse(line.decode()))


def _check(devices: int, servers: int, interval_s: float, seconds: float | None) -> None:
    if not 0 <= devices <= DEVICES_MAX or not 0 <= servers <= SERVERS_MAX or not devices + servers:
        raise UsageError(f"give 1 to {DEVICES_MAX} --routers, and up to {SERVERS_MAX} --servers")
    if not 0.1 <= interval_s <= 3600 or (seconds is not None and not seconds > 0):
        raise UsageError("--interval is from 0.1 to 3600 seconds, --seconds more than none")


def _read_codes(file: Path) -> list[str]:
    try:
        codes = file.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read codes from {file}: {error}") from error
    for code in codes:
        code_key(code)  # which says what is wrong with it
    return codes
