"""`rookery explain`: why packets to a member take the route they take."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import (
    CONTROL_OPTIONS,
    ControlOptions,
    NodeName,
    print_line,
    print_row,
)
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import ExplanationRow

Source = Annotated[
    str,
    Parameter(
        name="--from",
        show_default=False,
        help="Explain the packets of this member instead of the local node's.",
    ),
]


def explain(
    node: NodeName,
    /,
    *,
    source: Source = "",
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    async def work() -> int:
        request = ControlRequest(do=ControlCommand.EXPLAIN, node=node, source=source)
        async with control_options.connected() as control:
            explained = await control.one(request, ExplanationRow)
        if output.json:
            print_row(explained)
        else:
            for line in explained.lines:
                print_line(line)
        return OK

    return run_verb(work())
