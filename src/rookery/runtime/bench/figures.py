"""The paths of a tunnel in figures, as a bench reports them."""

from collections.abc import Iterable

from rookery.mesh.bench import BenchPathFigures
from rookery.mesh.tunnel.explanation import TunnelExplanation, TunnelPathRow


def path_figures(tunnels: Iterable[TunnelExplanation]) -> tuple[BenchPathFigures, ...]:
    """By path, of all tunnels with one member: both sides may have opened one."""
    by_name: dict[str, list[TunnelPathRow]] = {}
    for tunnel in tunnels:
        for row in tunnel.paths:
            by_name.setdefault(row.label or f"path {row.id}", []).append(row)
    return tuple(_figures(name, rows) for name, rows in sorted(by_name.items()))


def _figures(name: str, rows: list[TunnelPathRow]) -> BenchPathFigures:
    busiest = max(rows, key=lambda row: row.sent_size)
    return BenchPathFigures(
        path=name[:256],
        sent_bytes=sum(row.sent_size for row in rows),
        lost_packets=sum(row.lost_packets for row in rows),
        rtt_ms=round(busiest.rtt_s * 1e3, 3),
        rate_bytes_s=round(busiest.rate),
    )
