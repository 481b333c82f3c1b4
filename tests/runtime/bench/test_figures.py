"""The ways of tunnels as figures."""

from rookery.mesh.bench import BenchPathFigures
from rookery.mesh.tunnel.explanation import TunnelExplanation, TunnelPathRow
from rookery.runtime.bench.figures import path_figures


def row(label: str, sent: int, number: int = 1) -> TunnelPathRow:
    return TunnelPathRow(
        id=number,
        label=label,
        kind="datagram",
        phase="steady",
        is_silent=False,
        rtt_s=0.002 * number,
        rtt_min_s=0.001,
        rate=1e6,
        window=1,
        in_flight=0,
        sent_packets=1,
        sent_size=sent,
        lost_packets=1,
        marks=0,
    )


def explained(*rows: TunnelPathRow) -> TunnelExplanation:
    return TunnelExplanation(
        state="open", mode="auto", paths=rows, decisions={}, reinjected={}, counts={}
    )


def test_a_path_of_two_tunnels_is_one_path() -> None:
    tunnels = [explained(row("over east", 5), row("", 1, 7)), explained(row("over east", 90, 2))]
    assert path_figures(tunnels) == (
        BenchPathFigures("over east", 95, 2, 4.0, 1_000_000),
        BenchPathFigures("path 7", 1, 1, 14.0, 1_000_000),
    )
