"""`rookery top`: the local node's peers, routes and counters, live on the terminal.

Without a terminal it prints one frame; with `--json`, a snapshot a line until stopped.
"""

import asyncio
import sys
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.live import Live

from rookery.cli.mesh.control import CONTROL_OPTIONS, ControlOptions, print_row
from rookery.cli.mesh.top_frame import KEYS, Sort, frame
from rookery.cli.runner import run_service
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.keyboard import pressed
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.errors import UsageError
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import (
    MemberRouteRow,
    NodeCounters,
    NodeStatus,
    PeerRow,
    Snapshot,
)

INTERVAL_S = 1.0
_WIDTH_ELSEWHERE = 400  # in a file or pipe nothing is cut off


def top(
    *,
    sort: Annotated[Sort, Parameter(name="--sort", help="Which peers come first.")] = "traffic",
    interval_s: Annotated[
        float, Parameter(name="--interval", help="Seconds from one look to the next.")
    ] = INTERVAL_S,
    count: Annotated[
        int | None,
        Parameter(name="--count", help="End after so many; without a terminal, 1 is the default."),
    ] = None,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if interval_s <= 0 or (count is not None and count < 1):
        raise UsageError("give --interval more than 0 seconds, and --count 1 or more")

    async def work() -> int:
        async with control_options.connected() as control:
            if output.json:
                await _stream(control, interval_s, count)
            elif sys.stdout.isatty():
                await _live(control, interval_s, count, sort)
            else:
                await _frames(control, interval_s, count or 1, sort)
        return OK

    return run_service(work())


async def snapshot(control: ControlClient) -> Snapshot:
    return Snapshot(
        status=await control.one(ControlRequest(do=ControlCommand.STATUS), NodeStatus),
        peers=tuple(await control.all(ControlRequest(do=ControlCommand.PEERS), PeerRow)),
        routes=tuple(await control.all(ControlRequest(do=ControlCommand.ROUTES), MemberRouteRow)),
        counters=await control.one(ControlRequest(do=ControlCommand.COUNTERS), NodeCounters),
    )


async def _stream(control: ControlClient, interval_s: float, count: int | None) -> None:
    number = 0
    while True:
        print_row(await snapshot(control))
        number += 1
        if number == count:
            return
        await asyncio.sleep(interval_s)


async def _frames(control: ControlClient, interval_s: float, count: int, sort: Sort) -> None:
    console, before = Console(width=_WIDTH_ELSEWHERE), None
    for number in range(count):
        if number:
            await asyncio.sleep(interval_s)
        now = await snapshot(control)
        console.print(frame(now, before, sort))
        before = now


async def _live(control: ControlClient, interval_s: float, count: int | None, sort: Sort) -> None:
    console, before, number = Console(), None, 0
    with pressed() as keyboard, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            now = await snapshot(control)
            live.update(frame(now, before, sort, console.height), refresh=True)
            number += 1
            if number == count:
                return
            async for key in keyboard.keys(interval_s):
                if key == "q":
                    return
                sort = KEYS.get(key, sort)
                live.update(frame(now, before, sort, console.height), refresh=True)
            before = now
