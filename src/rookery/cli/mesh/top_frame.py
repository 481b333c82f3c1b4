"""One frame of `rookery top`: a node's peers, routes and counters at a moment."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rookery.cli.mesh.status import health_text
from rookery.cli.terminal import units
from rookery.cli.terminal.screen import printable
from rookery.runtime.node.snapshot import (
    MemberRouteRow,
    NodeCounters,
    NodeStatus,
    PeerRow,
    PeerState,
    Snapshot,
)

Sort = Literal["traffic", "rtt", "loss"]

KEYS: dict[str, Sort] = {"t": "traffic", "r": "rtt", "l": "loss"}

_PEER_COLUMNS = ("peer", "state", "over", "in", "out", "rtt", "loss out/in", "cost", "last error")
_ROUTE_COLUMNS = ("to", "reach", "route", "cost", "spare")
_STYLES = {
    PeerState.UP: "green",
    PeerState.JOINING: "cyan",
    PeerState.SUSPECT: "yellow",
    PeerState.DOWN: "red",
}
_LINES_AROUND = 11  # what is not rows: header, heads of tables, counters, help
_ROWS_MIN = 3


class PeerTraffic(NamedTuple):
    """What a peer sends and is sent: bytes a second, or in all before there are two snapshots."""

    in_bytes: float
    out_bytes: float


def frame(
    now: Snapshot, before: Snapshot | None, sort: Sort, height: int | None = None
) -> RenderableType:
    """All of it, or as much as fits so many lines."""
    flows = peer_traffic(now, before)
    peers = sorted_peers(sort, now.peers, flows)
    routes = now.routes
    hidden = ""
    if height is not None:
        room = max(2 * _ROWS_MIN, height - _LINES_AROUND)
        peers, routes, hidden = _fitting(peers, routes, room)
    parts: list[RenderableType] = [
        _header(now.status, flows, is_rate=before is not None),
        _table(_PEER_COLUMNS, (_peer_row(peer, flows, before is not None) for peer in peers)),
        _table(_ROUTE_COLUMNS, map(_route_row, routes)),
        _counters(now.counters),
    ]
    if height is not None:
        help_line = f"by {sort}{hidden}   t r l: by traffic, rtt, loss   q: quit"
        parts.append(Text(help_line, style="dim"))
    return Group(*parts)


def peer_traffic(now: Snapshot, before: Snapshot | None) -> dict[str, PeerTraffic]:
    """By hashname, from the growth of the counters."""
    if before is None:
        return {
            peer.node.hashname: PeerTraffic(peer.in_bytes, peer.out_bytes) for peer in now.peers
        }
    seconds = max(now.status.made_at - before.status.made_at, 0.001)
    old = {peer.node.hashname: peer for peer in before.peers}
    flows = {}
    for peer in now.peers:
        was = old.get(peer.node.hashname)
        # A link that was made anew counts from zero again.
        in_bytes = peer.in_bytes - (was.in_bytes if was and was.in_bytes <= peer.in_bytes else 0)
        out_bytes = peer.out_bytes - (
            was.out_bytes if was and was.out_bytes <= peer.out_bytes else 0
        )
        flows[peer.node.hashname] = PeerTraffic(in_bytes / seconds, out_bytes / seconds)
    return flows


def sorted_peers(
    sort: Sort, peers: Sequence[PeerRow], flows: dict[str, PeerTraffic]
) -> list[PeerRow]:
    """The most interesting first."""
    orders: dict[Sort, Callable[[PeerRow], float]] = {
        "traffic": lambda peer: -sum(flows[peer.node.hashname]),
        "rtt": lambda peer: float("inf") if peer.rtt_ms is None else peer.rtt_ms,
        "loss": lambda peer: -max(peer.loss_out or 0.0, peer.loss_in or 0.0),
    }
    return sorted(peers, key=lambda peer: (orders[sort](peer), str(peer.node)))


def _fitting(
    peers: Sequence[PeerRow], routes: Sequence[MemberRouteRow], room: int
) -> tuple[list[PeerRow], tuple[MemberRouteRow, ...], str]:
    for_peers = min(len(peers), max(room - len(routes), room // 2))
    for_routes = min(len(routes), room - for_peers)
    hidden = len(peers) - for_peers + len(routes) - for_routes
    note = f"   {hidden} rows do not fit" if hidden else ""
    return list(peers[:for_peers]), tuple(routes[:for_routes]), note


def _header(status: NodeStatus, flows: dict[str, PeerTraffic], *, is_rate: bool) -> Text:
    state = health_text(status, "ready")
    is_well = status.is_ready and not status.is_stale
    shown = units.rate if is_rate else units.size
    in_bytes = shown(sum(flow.in_bytes for flow in flows.values()))
    out_bytes = shown(sum(flow.out_bytes for flow in flows.values()))
    rest = (
        f" · realm {status.realm} · up {units.span(status.uptime_s)}"
        f" · peers {status.peers_up}/{status.peers}"
        f" · reachable {status.routes}/{status.members - 1}"
        f" · in {in_bytes}, out {out_bytes}"
    )
    text = Text(printable(status.name or status.hashname[:8]), style="bold")
    text.append(" · ").append(printable(state), style="green" if is_well else "red")
    return text.append(printable(rest), style="not bold")


def _peer_row(peer: PeerRow, flows: dict[str, PeerTraffic], is_rate: bool) -> list[Text]:
    flow, used = flows[peer.node.hashname], peer.used
    shown = units.rate if is_rate else units.size
    cells = (
        str(peer.node),
        peer.state.value,
        used.transport if used is not None else units.UNKNOWN,
        shown(flow.in_bytes),
        shown(flow.out_bytes),
        units.milliseconds(peer.rtt_ms),
        units.loss(peer.loss_out, peer.loss_in),
        units.cost(peer.cost_us),
        peer.last_error,
    )
    row = [Text(printable(cell)) for cell in cells]
    row[1].stylize(_STYLES[peer.state])
    return row


def _route_row(route: MemberRouteRow) -> list[Text]:
    path = route.best
    cells = (
        str(route.to),
        route.reach.value,
        str(path) if path is not None else route.problem,
        units.cost(path.cost_us if path is not None else None),
        str(len(route.alternates)),
    )
    return [Text(printable(cell)) for cell in cells]


def _table(columns: Iterable[str], rows: Iterable[Sequence[Text]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _counters(counters: NodeCounters) -> Text:
    packets = [f"{fate} {count}" for fate, count in sorted(counters.packets.items())]
    dropped = [f"{why} {count}" for why, count in sorted(counters.dropped.items())]
    refused = sum(entry.count for entry in counters.refused)
    text = f"packets: {', '.join(packets) or 'none'}   refused frames: {refused}"
    if dropped:
        text += f"   dropped: {', '.join(dropped)}"
    return Text(printable(text), no_wrap=True, overflow="ellipsis")
