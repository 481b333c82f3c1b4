"""Shared by `forward` and `socks`: listeners of the running node, their addresses and errors."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import ControlOptions, print_line, print_row
from rookery.cli.runner import run_service
from rookery.cli.terminal.exit_codes import OK, complain
from rookery.cli.terminal.options import Output
from rookery.cli.terminal.screen import printable
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import ControlCommand, ControlRequest, ListenerRequest
from rookery.runtime.node.snapshot import ListenerKind, ListenerOpened

REMOTE_S = 10.0  # for an exit to listen for us

ExitName = Annotated[
    str,
    Parameter(
        name="--exit",
        help="The member whose node makes the connections: its hashname, the beginning of it, or "
        "its certificate's name; auto for any exit that can connect.",
    ),
]


def run_listeners(
    wanted: Sequence[ListenerRequest], control_options: ControlOptions, output: Output
) -> int:
    """Open the listeners, print where they are, and hold them until stopped."""

    async def work() -> int:
        async with control_options.connected() as control:
            return await _hold_listeners(
                control,
                ControlRequest(do=ControlCommand.LISTENERS, listeners=tuple(wanted)),
                output,
            )

    return run_service(work())


async def _hold_listeners(control: ControlClient, request: ControlRequest, output: Output) -> int:
    async for row in control.hold(request, patience_s=REMOTE_S):
        if not isinstance(row, ListenerOpened):
            complain(printable(row.problem))
        elif output.json:
            print_row(row)
        else:
            print_line(described(row))
    return OK


def described(opened: ListenerOpened) -> str:
    """A listener on one line."""
    through = "any exit" if opened.exit is None else str(opened.exit)
    match opened.kind:
        case ListenerKind.SOCKS:
            return f"SOCKS5 on {opened.listening}, through {through}"
        case ListenerKind.HTTP:
            return f"HTTP CONNECT on {opened.listening}, through {through}"
        case ListenerKind.REVERSE:
            return f"{opened.listening} at {through} -> {opened.to} from here"
        case _:
            return f"{opened.kind.value} {opened.listening} -> {opened.to} through {through}"
