"""`rookery peers`: the local node's links with members, and what each is worth."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli import figures
from rookery.cli.control import ASKING, Asking, Watch, print_rows, run_look
from rookery.cli.exits import OK
from rookery.cli.options import OUTPUT, Output
from rookery.cli.screen import print_table, remark
from rookery.runtime.control_client import ControlClient
from rookery.runtime.control_lines import Do, Request
from rookery.runtime.snapshot import Peer, PeerWay

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
    asking: Asking = ASKING,
    output: Output = OUTPUT,
) -> int:
    async def show(control: ControlClient) -> int:
        rows = await control.all(Request(do=Do.PEERS), Peer)
        if output.json:
            print_rows(rows)
        elif rows:
            print_table(COLUMNS, [cells for row in rows for cells in _rows(row, paths=paths)])
        else:
            remark("no peers yet; give the node one with --peer LINK, or wait to be dialled")
        return OK

    return run_look(asking, show, is_watching=watch)


def _rows(peer: Peer, *, paths: bool) -> list[tuple[str, ...]]:
    return [peer_cells(peer), *(_way_cells(way) for way in peer.ways if paths)]


def peer_cells(peer: Peer) -> tuple[str, ...]:
    """One peer, in the order of COLUMNS."""
    used = peer.used
    return (
        str(peer.node),
        peer.state.value,
        used.transport if used is not None else figures.UNKNOWN,
        figures.milliseconds(peer.rtt_ms),
        figures.milliseconds(peer.jitter_ms),
        figures.loss(peer.loss_out, peer.loss_in),
        figures.rate(peer.rate_bytes_s),
        figures.cost(peer.cost_us),
        peer.last_error,
    )


def _way_cells(way: PeerWay) -> tuple[str, ...]:
    return (
        f"  {way.address}",
        way.state.value,
        f"{way.transport}{' (used)' if way.is_used else ''}",
        figures.milliseconds(way.rtt_ms),
        figures.milliseconds(way.jitter_ms),
        figures.loss(way.loss_out, way.loss_in),
        figures.rate(way.rate_bytes_s),
        "",
        way.last_error,
    )
