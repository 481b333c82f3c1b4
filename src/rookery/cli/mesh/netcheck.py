"""`rookery netcheck`: what works from here, and what to do about what does not."""

from rookery.cli.mesh.control import CONTROL_OPTIONS, ControlOptions, print_rows
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import FAILED, OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_table
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import NetCheckItem, NetCheckResult

COLUMNS = ("check", "finding", "found", "what to try")


def netcheck(*, control_options: ControlOptions = CONTROL_OPTIONS, output: Output = OUTPUT) -> int:
    async def work() -> int:
        async with control_options.connected() as control:
            items = await control.all(ControlRequest(do=ControlCommand.NETCHECK), NetCheckItem)
        if output.json:
            print_rows(items)
        else:
            print_table(COLUMNS, map(_cells, items))
        return FAILED if any(item.finding is NetCheckResult.FAILED for item in items) else OK

    return run_verb(work())


def _cells(item: NetCheckItem) -> tuple[str, ...]:
    return item.check, item.finding.value, item.found, item.advice
