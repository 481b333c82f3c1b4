"""The benches run: one quick turn of those that use every part of the package."""

from bench import handshakes, memory, routes, stream
from bench.ends import LinkVariant
from bench.figure import QUICK, Figure
from bench.table import table


def test_a_stream_is_measured_beside_its_limit() -> None:
    figure = stream.figure(LinkVariant(0x40, "udp"), QUICK)
    assert figure.value > 0
    assert figure.ratio is not None
    assert figure.what in table([figure])


def test_handshakes_are_measured_beside_the_bare_cryptography() -> None:
    figure = handshakes.figure(LinkVariant(0x3A, "udp"), QUICK)
    assert figure.ratio is not None


def test_idle_links_are_counted_and_weighed() -> None:
    figure = memory.idle_links(QUICK.links)
    assert figure.what.startswith(f"{QUICK.links} idle links")


def test_disjoint_routes_are_found_faster_than_networkx_finds_them() -> None:
    figure = routes.disjoint(routes.Mesh(1), QUICK)
    assert figure.ratio is not None
    assert figure.ratio < 1


def test_a_ratio_needs_a_limit() -> None:
    assert Figure(what="a figure", value=1.0, unit="MB/s").ratio is None
