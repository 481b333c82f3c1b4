"""`rookery routes`: how each member is reached from here, and the alternates."""

from rookery.cli.mesh.control import CONTROL_OPTIONS, ControlOptions, Watch, print_rows, run_display
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_table, remark
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import MemberRouteRow

COLUMNS = ("to", "reach", "route", "cost", "alternates")


def routes(
    *,
    watch: Watch = False,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    async def show(control: ControlClient) -> int:
        rows = await control.all(ControlRequest(do=ControlCommand.ROUTES), MemberRouteRow)
        if output.json:
            print_rows(rows)
        elif rows:
            print_table(COLUMNS, map(route_cells, rows))
        else:
            remark("no other members yet; see: rookery realm --help")
        return OK

    return run_display(control_options, show, is_watching=watch)


def route_cells(route: MemberRouteRow) -> tuple[str, ...]:
    """One route, in the order of COLUMNS."""
    path = route.best
    alternates = [f"{other} ({units.cost(other.cost_us)})" for other in route.alternates]
    return (
        str(route.to),
        route.reach.value,
        str(path) if path is not None else route.problem or units.UNKNOWN,
        units.cost(path.cost_us if path is not None else None),
        "; ".join(alternates),
    )
