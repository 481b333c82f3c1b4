"""The site plan keeps what the guide promises."""

import rustworkx

from rookery.cli.demo.site_plan import (
    DEVICES,
    HUB_NODE,
    LINKS,
    NODES,
    NUMBER,
    RELAY,
    SITES,
    WATCHED,
    mac,
)


def cost_ms(without: str = "") -> dict[int, float]:
    """From the first of the watched to everybody, by delays."""
    graph: rustworkx.PyGraph[str, float] = rustworkx.PyGraph()
    graph.add_nodes_from([place.name for place in NODES])
    for link in LINKS:
        if without not in (link.one, link.other):
            graph.add_edge(NUMBER[link.one], NUMBER[link.other], link.delay_ms)
    found = rustworkx.dijkstra_shortest_path_lengths(graph, NUMBER[WATCHED[0]], float)
    return dict(found.items())


def test_there_are_twelve_devices_at_three_sites_and_eight_of_them_are_mesh_nodes() -> None:
    assert len(DEVICES) == 12
    assert len(NODES) == 8
    assert {place.site for place in DEVICES} == set(SITES)
    assert len({mac(place) for place in DEVICES}) == len(DEVICES)


def test_one_link_loses_one_flaps_and_one_fades() -> None:
    assert sum(link.loss > 0 for link in LINKS) == 1
    assert sum(link.weather.flap is not None for link in LINKS) == 1
    assert sum(link.is_fading for link in LINKS) == 1


def test_without_the_relay_everybody_is_still_reached_and_it_takes_longer() -> None:
    usual, without = cost_ms(), cost_ms(RELAY)
    assert len(usual) == len(NODES) - 1
    assert len(without) == len(NODES) - 2
    target = NUMBER[WATCHED[1]]
    assert without[target] > 1.5 * usual[target]


def test_neither_the_hub_nor_the_watched_hang_on_the_relay_that_dies() -> None:
    assert RELAY not in (HUB_NODE, *WATCHED)
