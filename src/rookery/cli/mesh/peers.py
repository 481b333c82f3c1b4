"""`rookery peers`: the local node's links with members, and what each is worth."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import CONTROL_OPTIONS, ControlOptions, Watch, print_rows, run_display
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_table, remark
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import PeerPathRow, PeerRow

COLUMNS = ("peer", "state", "over", "rtt", "jitter", "loss out/in", "rate", "cost", "last error")


def peers(
    *,
    paths: Annotated[
        bool,
        Parameter(
            name="--paths", negative="", show_default=False, help="Also show each path of a peer."
        ),
    ] = False,
    watch: Watch = False,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    async def show(control: ControlClient) -> int:
        rows = await control.all(ControlRequest(do=ControlCommand.PEERS), PeerRow)
        if output.json:
            print_rows(rows)
        elif rows:
            print_table(COLUMNS, [cells for row in rows for cells in _rows(row, paths=paths)])
        else:
            remark("no peers yet; give the node one with --peer LINK, or wait to be dialled")
        return OK

    return run_display(control_options, show, is_watching=watch)


def _rows(peer: PeerRow, *, paths: bool) -> list[tuple[str, ...]]:
    return [peer_cells(peer), *(_path_cells(path) for path in peer.paths if paths)]


def peer_cells(peer: PeerRow) -> tuple[str, ...]:
    """One peer, in the order of COLUMNS."""
    used = peer.used
    return (
        str(peer.node),
        peer.state.value,
        used.transport if used is not None else units.UNKNOWN,
        units.milliseconds(peer.rtt_ms),
        units.milliseconds(peer.jitter_ms),
        units.loss(peer.loss_out, peer.loss_in),
        units.rate(peer.rate_bytes_s),
        units.cost(peer.cost_us),
        peer.last_error,
    )


def _path_cells(path: PeerPathRow) -> tuple[str, ...]:
    return (
        f"  {path.address}",
        path.state.value,
        f"{path.transport}{' (used)' if path.is_used else ''}",
        units.milliseconds(path.rtt_ms),
        units.milliseconds(path.jitter_ms),
        units.loss(path.loss_out, path.loss_in),
        units.rate(path.rate_bytes_s),
        "",
        path.last_error,
    )
