"""`rookery explain`: why packets to a member take the way they take."""

from rookery.cli.control import ASKING, Asking, NodeName, print_line, print_row
from rookery.cli.exits import OK
from rookery.cli.life import run_verb
from rookery.cli.options import OUTPUT, Output
from rookery.runtime.control_lines import Do, Request
from rookery.runtime.snapshot import Explained


def explain(node: NodeName, /, *, asking: Asking = ASKING, output: Output = OUTPUT) -> int:
    async def work() -> int:
        async with asking.connected() as control:
            explained = await control.one(Request(do=Do.EXPLAIN, node=node), Explained)
        if output.json:
            print_row(explained)
        else:
            for line in explained.lines:
                print_line(line)
        return OK

    return run_verb(work())
