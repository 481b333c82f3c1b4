"""`rookery top`: the local node's peers, routes and counters, live on the terminal.

Without a terminal it prints one frame; with `--json`, a snapshot a line until stopped.
"""

import asyncio
import sys
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.live import Live

from rookery.cli.control import ASKING, Asking, print_row
from rookery.cli.exits import OK
from rookery.cli.keyboard import pressed
from rookery.cli.life import run_service
from rookery.cli.options import OUTPUT, Output
from rookery.cli.top_frame import KEYS, Sort, frame
from rookery.errors import UsageError
from rookery.runtime.control_client import ControlClient
from rookery.runtime.control_lines import Do, Request
from rookery.runtime.snapshot import Counters, Peer, Route, Snapshot, Status

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
    asking: Asking = ASKING,
    output: Output = OUTPUT,
) -> int:
    if interval_s <= 0 or (count is not None and count < 1):
        raise UsageError("give --interval more than 0 seconds, and --count 1 or more")

    async def work() -> int:
        async with asking.connected() as control:
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
        status=await control.one(Request(do=Do.STATUS), Status),
        peers=tuple(await control.all(Request(do=Do.PEERS), Peer)),
        routes=tuple(await control.all(Request(do=Do.ROUTES), Route)),
        counters=await control.one(Request(do=Do.COUNTERS), Counters),
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
