"""What the verbs that hold doors of the running node share: ask, say where, tell of trouble."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.control import Asking, print_line, print_row
from rookery.cli.exits import OK, complain
from rookery.cli.life import run_service
from rookery.cli.options import Output
from rookery.cli.screen import printable
from rookery.runtime.control_client import ControlClient
from rookery.runtime.control_lines import Do, DoorWanted, Request
from rookery.runtime.snapshot import DoorKind, DoorOpened

REMOTE_S = 10.0  # for an exit to listen for us

ExitName = Annotated[
    str,
    Parameter(
        name="--exit",
        help="The member whose node makes the connections: its hashname, the beginning of it, or "
        "its certificate's name; auto for whoever gets through.",
    ),
]


def run_doors(wanted: Sequence[DoorWanted], asking: Asking, output: Output) -> int:
    """Have the doors opened, say where, and hold them until stopped."""

    async def work() -> int:
        async with asking.connected() as control:
            return await _hold(control, Request(do=Do.DOORS, doors=tuple(wanted)), output)

    return run_service(work())


async def _hold(control: ControlClient, request: Request, output: Output) -> int:
    async for row in control.hold(request, patience_s=REMOTE_S):
        if not isinstance(row, DoorOpened):
            complain(printable(row.problem))
        elif output.json:
            print_row(row)
        else:
            print_line(described(row))
    return OK


def described(door: DoorOpened) -> str:
    """A door on one line."""
    through = "any exit" if door.exit is None else str(door.exit)
    match door.kind:
        case DoorKind.SOCKS:
            return f"SOCKS5 on {door.listening}, through {through}"
        case DoorKind.HTTP:
            return f"HTTP CONNECT on {door.listening}, through {through}"
        case DoorKind.REVERSE:
            return f"{door.listening} at {through} -> {door.to} from here"
        case _:
            return f"{door.kind.value} {door.listening} -> {door.to} through {through}"
