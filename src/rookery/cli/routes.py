"""`rookery routes`: how each member is reached from here, and what stands by."""

from rookery.cli import figures
from rookery.cli.control import ASKING, Asking, print_rows
from rookery.cli.exits import OK
from rookery.cli.life import run_verb
from rookery.cli.options import OUTPUT, Output
from rookery.cli.screen import print_table, remark
from rookery.runtime.control_lines import Do, Request
from rookery.runtime.snapshot import Route

COLUMNS = ("to", "reach", "way", "cost", "alternates")


def routes(*, asking: Asking = ASKING, output: Output = OUTPUT) -> int:
    async def work() -> int:
        async with asking.connected() as control:
            rows = await control.all(Request(do=Do.ROUTES), Route)
        if output.json:
            print_rows(rows)
        elif rows:
            print_table(COLUMNS, map(route_cells, rows))
        else:
            remark("no other members yet; see: rookery realm --help")
        return OK

    return run_verb(work())


def route_cells(route: Route) -> tuple[str, ...]:
    """One route, in the order of COLUMNS."""
    way = route.way
    alternates = [f"{other} ({figures.cost(other.cost_us)})" for other in route.alternates]
    return (
        str(route.to),
        route.reach.value,
        str(way) if way is not None else route.problem or figures.UNKNOWN,
        figures.cost(way.cost_us if way is not None else None),
        "; ".join(alternates),
    )
