"""A peer as people see it: its state, what the link is worth, and each of its paths."""

import msgspec

from rookery.link.link import Link
from rookery.mesh.membership.neighbour import Neighbour
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.quality.path_row import PathRow
from rookery.mesh.quality.udp_companion import UdpCompanionState
from rookery.runtime.node.members import NodeName
from rookery.runtime.node.snapshot import PeerPathRow, PeerPathState, PeerRow, PeerState
from rookery.wire.link.path import NetPath, Path, UnixPath, net_path

_STATES = {
    PathCondition.JOINING: PeerState.JOINING,
    PathCondition.UP: PeerState.UP,
    PathCondition.SUSPECT: PeerState.SUSPECT,
    PathCondition.DOWN: PeerState.DOWN,
}
_PATH_STATES = {
    PathCondition.JOINING: PeerPathState.UNPROVEN,
    PathCondition.UP: PeerPathState.UP,
    PathCondition.SUSPECT: PeerPathState.SUSPECT,
    PathCondition.DOWN: PeerPathState.DOWN,
}
_COMPANION_STATES = {
    UdpCompanionState.OFF: PeerPathState.UNPROVEN,
    UdpCompanionState.PROBING: PeerPathState.PROBING,
    UdpCompanionState.UP: PeerPathState.UP,
    UdpCompanionState.SUSPECT: PeerPathState.SUSPECT,
    UdpCompanionState.DOWN: PeerPathState.DOWN,
}


def linked_peer(neighbour: Neighbour, link: Link, now: float) -> PeerRow:
    """A member that has proved to be one over this link."""
    member, best = neighbour.member, link.paths.best
    rows = {row.path: row for row in neighbour.paths(now)}
    paths = [_path_row(row, best, neighbour) for row in rows.values()]
    paths += _other_paths(link, rows, best)
    companion = _absent_companion(neighbour)
    if companion is not None:
        paths.append(companion)
    used = next((path for path in paths if path.is_used), None)
    return PeerRow(
        node=NodeName(member.hashname, member.name),
        state=_STATES[neighbour.state],
        roles=tuple(sorted(member.roles)),
        cost_us=neighbour.cost_us(now),
        offset_us=neighbour.offset_us,
        advice=neighbour.advice,
        rtt_ms=used.rtt_ms if used else None,
        jitter_ms=used.jitter_ms if used else None,
        loss_out=used.loss_out if used else None,
        loss_in=used.loss_in if used else None,
        rate_bytes_s=used.rate_bytes_s if used else None,
        in_bytes=link.in_bytes,
        out_bytes=link.out_bytes,
        paths=tuple(paths),
        last_error=link.last_error or "",
    )


def absent_peer(node: NodeName, link: Link | None) -> PeerRow:
    """A peer that should be a neighbour and is not."""
    if link is None:
        return PeerRow(node=node, state=PeerState.DOWN)
    paths = _other_paths(link, {}, link.paths.best)
    return PeerRow(
        node=node,
        state=PeerState.JOINING if any(path.is_used for path in paths) else PeerState.DOWN,
        in_bytes=link.in_bytes,
        out_bytes=link.out_bytes,
        paths=tuple(paths),
        last_error=link.last_error or "",
    )


def noted(peer: PeerRow, error: str, error_at: float | None, since_s: float) -> PeerRow:
    """The row with what was logged; the link itself has a newer error, but not its time."""
    return msgspec.structs.replace(
        peer,
        last_error=peer.last_error or error,
        last_error_at=error_at if peer.last_error in ("", error) else None,
        state_since_s=since_s,
    )


def _path_row(row: PathRow, best: Path | None, neighbour: Neighbour) -> PeerPathRow:
    companion = row.companion
    state = _PATH_STATES[row.condition] if companion is None else _COMPANION_STATES[companion]
    return PeerPathRow(
        address=address(row.path),
        transport=row.path.kind,
        state=state,
        is_used=row.path == best,
        rtt_ms=_ms(row.rtt_s),
        jitter_ms=_ms(row.jitter_s) if row.rtt_s is not None else None,
        loss_out=round(row.loss_out, 4),
        loss_in=round(row.loss_in, 4),
        rate_bytes_s=None if row.rate is None else round(row.rate),
        last_error=neighbour.companion.reason if companion is not None else "",
    )


def _other_paths(link: Link, seen: dict[Path, PathRow], best: Path | None) -> list[PeerPathRow]:
    """Paths of the link that are not measured: unproven ones, relays, routes."""
    return [
        PeerPathRow(
            address=address(state.path),
            transport=state.path.kind,
            state=PeerPathState.UP if state.is_usable else PeerPathState.UNPROVEN,
            is_used=state.path == best,
            rtt_ms=_ms(state.rtt),
        )
        for state in link.paths
        if state.path not in seen
    ]


def _absent_companion(neighbour: Neighbour) -> PeerPathRow | None:
    """Why there are no datagrams next to a stream."""
    companion = neighbour.companion
    if companion.monitor is not None or companion.master is None:
        return None
    path = net_path("udp", *companion.master.address)
    state = _COMPANION_STATES[companion.state]
    return PeerPathRow(
        address=address(path), transport=path.kind, state=state, last_error=companion.reason
    )


def address(path: Path) -> str:
    """The address without its kind, which is shown separately."""
    if isinstance(path, NetPath | UnixPath):
        return str(path).partition(":")[2]
    return str(path)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)
