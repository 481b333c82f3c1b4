"""`rookery routes`: how each member is reached from here, and what stands by."""

from rookery.cli import figures
from rookery.cli.control import ASKING, Asking, Watch, print_rows, run_look
from rookery.cli.exits import OK
from rookery.cli.options import OUTPUT, Output
from rookery.cli.screen import print_table, remark
from rookery.runtime.control_client import ControlClient
from rookery.runtime.control_lines import Do, Request
from rookery.runtime.snapshot import Route

COLUMNS = ("to", "reach", "way", "cost", "alternates")


def routes(*, watch: Watch = False, asking: Asking = ASKING, output: Output = OUTPUT) -> int:
    async def show(control: ControlClient) -> int:
        rows = await control.all(Request(do=Do.ROUTES), Route)
        if output.json:
            print_rows(rows)
        elif rows:
            print_table(COLUMNS, map(route_cells, rows))
        else:
            remark("no other members yet; see: rookery realm --help")
        return OK

    return run_look(asking, show, is_watching=watch)


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
