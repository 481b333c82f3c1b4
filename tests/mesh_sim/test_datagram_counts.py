"""What became of datagrams is told of all of them, also of those for neighbours that are gone."""

import pytest

from rookery.errors import UsageError
from rookery.mesh.quality.datagram_policy import DatagramFate
from rookery.sim.mesh.topology import Topology
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.mesh.forward import DatagramClass

SIZES = {DatagramClass.DROP: 1200, DatagramClass.FALLBACK: 61440, DatagramClass.RELIABLE_OK: 261120}
PAIR = Topology(2, {(0, 1): 0.01})


def test_counts_outlive_the_neighbour() -> None:
    """M11."""
    world = MeshWorld(seed=3, topology=PAIR)
    world.converge()
    here, there = world.members[0], world.members[1]
    for datagram_class in DatagramClass:
        here.core.send_datagram(there.hashname, b"hello", world.now, datagram_class)
    before = here.core.neighbourhood.datagrams()
    assert {kind for kind, _ in before} == set(DatagramClass)
    assert before.total() == 3
    world.kill(1)
    world.run_until(lambda: not here.core.neighbours)
    assert here.core.neighbourhood.datagrams() == before
    world.revive(1)
    world.converge()
    assert here.core.send_datagram(there.hashname, b"hello", world.now)
    after = here.core.neighbourhood.datagrams() - before
    assert after.total() == 1
    assert all(fate.is_sent and isinstance(fate, DatagramFate) for _, fate in after)


@pytest.mark.parametrize("datagram_class", DatagramClass)
def test_what_no_path_carries_is_an_error_to_the_sender(datagram_class: DatagramClass) -> None:
    """M11: the size is that of the frame, whose head is a byte."""
    world = MeshWorld(seed=3, topology=PAIR)
    world.converge()
    here, there, size = world.members[0], world.members[1], SIZES[datagram_class]
    here.core.send_datagram(there.hashname, bytes(size - 1), world.now, datagram_class)
    with pytest.raises(UsageError, match=f"of {size} bytes is too large for class"):
        here.core.send_datagram(there.hashname, bytes(size), world.now, datagram_class)
    assert here.core.neighbourhood.datagrams()[datagram_class, DatagramFate.TOO_LARGE] == 1
