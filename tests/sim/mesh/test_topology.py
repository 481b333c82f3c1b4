"""Random topologies."""

from random import Random

import pytest

from rookery.sim.mesh.topology import components, random_topology


@pytest.mark.parametrize("size", [1, 2, 3, 50, 300])
def test_a_topology_is_connected_with_the_given_degree(size: int) -> None:
    topology = random_topology(Random(size), size, degree=6.0)
    assert components(range(size), topology.delays_s) == [set(range(size))]
    possible = size * (size - 1) // 2
    assert len(topology.delays_s) == min(round(size * 3), possible)
    assert all(0.002 <= delay_s <= 0.06 for delay_s in topology.delays_s.values())
    assert all(one < other for one, other in topology.delays_s)


def test_no_single_death_divides_it() -> None:
    topology = random_topology(Random(1), 30, degree=2.0)
    for dead in range(30):
        alive = [number for number in range(30) if number != dead]
        assert len(components(alive, topology.delays_s)) == 1


def test_the_same_seed_gives_the_same_topology() -> None:
    one, again, other = (random_topology(Random(seed), 20) for seed in (1, 1, 2))
    assert one == again != other


def test_neighbours_are_on_either_side() -> None:
    topology = random_topology(Random(1), 10)
    for one, other in topology.delays_s:
        assert other in topology.neighbours(one)
        assert one in topology.neighbours(other)


def test_components_part_whom_no_link_joins() -> None:
    assert components(range(5), [(0, 1), (3, 4), (1, 7)]) == [{0, 1}, {2}, {3, 4}]
    assert components(range(4), [(0, 1), (2, 3), (1, 2)]) == [{0, 1, 2, 3}]
