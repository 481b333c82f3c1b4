"""Requests of verbs to a node of this machine, over its control socket.

By flag, else by `ROOKERY_CONTROL`, else the socket in the user's data folder.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.runner import run_service, run_verb
from rookery.cli.terminal.options import data_folder
from rookery.cli.terminal.screen import print_json, printable
from rookery.errors import UsageError
from rookery.runtime.control.client import ControlClient, connected
from rookery.runtime.control.messages import TIMEOUT_S_DEFAULT, as_json
from rookery.runtime.control.server import FILE_NAME
from rookery.runtime.node.snapshot import Row, Snapshot

ENVIRONMENT = "ROOKERY_CONTROL"
WATCH_S = 1.0

_CLEAR = "\x1b[H\x1b[2J"

NodeName = Annotated[
    str,
    Parameter(
        name="NODE", help="A member: its hashname, the beginning of it, or its certificate's name."
    ),
]


Watch = Annotated[
    bool,
    Parameter(
        name="--watch",
        negative="",
        show_default=False,
        help="Look again every second, until stopped.",
    ),
]

Show = Callable[[ControlClient], Awaitable[int]]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ControlOptions:
    """Which node to connect to."""

    identity: Annotated[
        Path | None, Parameter(name="--id", help="The folder that the node was started with.")
    ] = None
    control: Annotated[
        Path | None, Parameter(name="--control", help="Its control socket, where it is elsewhere.")
    ] = None
    timeout_s: Annotated[
        float, Parameter(name="--timeout", help="Seconds to wait for an answer.")
    ] = TIMEOUT_S_DEFAULT

    @property
    def path(self) -> Path:
        if self.control is not None:
            return self.control
        if self.identity is not None:
            return self.identity / FILE_NAME
        if named := os.environ.get(ENVIRONMENT):
            return Path(named)
        return data_folder() / FILE_NAME

    def connected(self) -> AbstractAsyncContextManager[ControlClient]:
        if self.timeout_s <= 0:
            raise UsageError("no node answers at once; give --timeout more than 0 seconds")
        return connected(self.path, self.timeout_s)


CONTROL_OPTIONS = ControlOptions()


def run_display(control_options: ControlOptions, show: Show, *, is_watching: bool) -> int:
    """Show what there is, once or again and again; the exit code of the last look."""

    async def look() -> int:
        async with control_options.connected() as control:
            return await show(control)

    async def watch() -> int:
        async with control_options.connected() as control:
            while True:
                if sys.stdout.isatty():
                    print(_CLEAR, end="")
                await show(control)
                await asyncio.sleep(WATCH_S)

    return run_service(watch()) if is_watching else run_verb(look())


def print_rows(rows: Iterable[Row]) -> None:
    """For programs, one row a line."""
    for row in rows:
        print_row(row)


def print_row(row: Row | Snapshot) -> None:
    print_json(as_json(row))


def print_line(text: str) -> None:
    print(printable(text), flush=True)
