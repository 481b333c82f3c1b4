"""What the nodes of a flock know about pairs whose pings are lost, for the failure's message.

each way     why the route was chosen, and how far a trace gets along it
each node    on either way: its peers with their paths, and what it dropped or refused
"""

from collections.abc import Sequence

from rookery.errors import RookeryError
from rookery.runtime.control.client import connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import ExplanationRow, NodeCounters, PeerRow, TraceHop
from tests.e2e.mesh.flock import ANSWER_S, Bird, Edge, Flock

PAIRS_MAX = 3  # the others rarely differ
_PROBES = 3
_PROBE_S = 2.0


async def diagnosis(flock: Flock, pairs: Sequence[Edge]) -> str:
    """Several lines; a node that cannot be asked is told as such."""
    ends = [pair for one, other in pairs[:PAIRS_MAX] for pair in ((one, other), (other, one))]
    lines: list[str] = []
    for source, target in ends:
        lines += await _way(flock.birds[source], flock.birds[target])
    try:
        routes = await flock.routes()
    except RookeryError as error:
        routes = {}
        lines.append(f"routes: {error}")
    concerned = {number for pair in ends for number in routes.get(pair, pair)}
    for number in sorted(concerned):
        lines += await _knowledge(flock.birds[number])
    return "\n".join(lines)


async def _way(source: Bird, target: Bird) -> list[str]:
    """From one end to the other: the decision, and where probes along it end."""
    lines = [f"--- {source.name} to {target.name}"]
    node = target.home.hashname
    probe = ControlRequest(do=ControlCommand.TRACE, node=node, probes=_PROBES, timeout_s=_PROBE_S)
    try:
        async with connected(source.control, timeout_s=ANSWER_S) as client:
            explained = await client.one(
                ControlRequest(do=ControlCommand.EXPLAIN, node=node), ExplanationRow
            )
            lines += explained.lines
            async for hop in client.ask(probe, TraceHop, patience_s=_PROBES * _PROBE_S):
                lines.append(f"trace {hop.number}: {hop.node} {hop.rtts_ms} ms {hop.problem}")
    except RookeryError as error:
        lines.append(str(error))
    return lines


async def _knowledge(bird: Bird) -> list[str]:
    """What a node on the way makes of its links, and of what it was given."""
    lines = [f"--- {bird.name}"]
    try:
        lines += [_peer(peer) for peer in await bird.rows(ControlCommand.PEERS, PeerRow)]
        for counters in await bird.rows(ControlCommand.COUNTERS, NodeCounters):
            refused = {f"{each.reason} ({each.source})": each.count for each in counters.refused}
            lines.append(f"packets {counters.packets}, dropped {counters.dropped}")
            lines.append(f"refused {refused}, by the endpoint {counters.endpoint}")
    except RookeryError as error:
        lines.append(str(error))
    return lines


def _peer(peer: PeerRow) -> str:
    paths = ", ".join(
        f"{path.transport} {path.address} {path.state.value}{' (in use)' * path.is_used}"
        f" {path.rtt_ms} ms, lost {path.loss_out} out and {path.loss_in} in {path.last_error}"
        for path in peer.paths
    )
    return f"peer {peer.node} {peer.state.value} since {peer.state_since_s:.1f}: {paths}"
