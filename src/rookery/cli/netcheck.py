"""`rookery netcheck`: what works from here, and what to do about what does not."""

from rookery.cli.control import ASKING, Asking, print_rows
from rookery.cli.exits import FAILED, OK
from rookery.cli.life import run_verb
from rookery.cli.options import OUTPUT, Output
from rookery.cli.screen import print_table
from rookery.runtime.control_lines import Do, Request
from rookery.runtime.snapshot import Finding, NetCheckItem

COLUMNS = ("check", "finding", "found", "what to try")


def netcheck(*, asking: Asking = ASKING, output: Output = OUTPUT) -> int:
    async def work() -> int:
        async with asking.connected() as control:
            items = await control.all(Request(do=Do.NETCHECK), NetCheckItem)
        if output.json:
            print_rows(items)
        else:
            print_table(COLUMNS, map(_cells, items))
        return FAILED if any(item.finding is Finding.FAILED for item in items) else OK

    return run_verb(work())


def _cells(item: NetCheckItem) -> tuple[str, ...]:
    return item.check, item.finding.value, item.found, item.advice
