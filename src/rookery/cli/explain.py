"""`rookery explain`: why packets to a member take the way they take."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli.control import ASKING, Asking, NodeName, print_line, print_row
from rookery.cli.exits import OK
from rookery.cli.life import run_verb
from rookery.cli.options import OUTPUT, Output
from rookery.runtime.control_lines import Do, Request
from rookery.runtime.snapshot import Explained

Source = Annotated[
    str,
    Parameter(
        name="--from",
        show_default=False,
        help="Explain the packets of this member instead of the local node's.",
    ),
]


def explain(
    node: NodeName, /, *, source: Source = "", asking: Asking = ASKING, output: Output = OUTPUT
) -> int:
    async def work() -> int:
        request = Request(do=Do.EXPLAIN, node=node, source=source)
        async with asking.connected() as control:
            explained = await control.one(request, Explained)
        if output.json:
            print_row(explained)
        else:
            for line in explained.lines:
                print_line(line)
        return OK

    return run_verb(work())
