"""A gate without sockets: endpoints of one process talk over a simulated network.

    network = MemoryNetwork(seed=1, conditions=Conditions(loss=0.1))
    endpoint.add_gate(network.gate(endpoint, "10.0.0.1"))

On a virtual loop this is a deterministic world for whole programs, not just for the cores.
"""

import asyncio
from random import Random

from rookery.errors import DecodeError, UsageError
from rookery.runtime.endpoint.gates.gate import GateReceiver
from rookery.sim.network.network import Conditions, Network
from rookery.wire.link.cloak import cloak, reveal
from rookery.wire.link.path import NetPath, Path
from rookery.wire.octets import Octets

PORT = 42424


class MemoryNetwork:
    """Gates of one network can reach each other, as far as the conditions allow."""

    def __init__(self, seed: int = 0, conditions: Conditions | None = None) -> None:
        self._random = Random(seed)  # noqa: S311 - replayable on purpose
        self.network = Network(self._random, conditions or Conditions())
        self._gates: dict[NetPath, MemoryGate] = {}

    def gate(self, receiver: GateReceiver, ip: str, *, kind: str = "udp4") -> "MemoryGate":
        """A gate at a free address; only a `udp` one loses packets."""
        path = NetPath(kind, ip, PORT)
        if path in self._gates:
            raise UsageError(f"{path} is taken")
        gate = self._gates[path] = MemoryGate(self, receiver, path)
        return gate

    def carry(self, source: NetPath, target: NetPath, data: bytes) -> None:
        """Deliver a packet after the network's delay, cloaked as it would be on a wire."""
        loop = asyncio.get_running_loop()
        nonce = b"\x01" + self._random.randbytes(7)
        datagram = cloak(data, nonce)
        for arrival in self.network.arrivals(source, target, loop.time()):
            loop.call_at(arrival, self._deliver, source, target, datagram)

    def leave(self, path: NetPath) -> None:
        self._gates.pop(path, None)

    def _deliver(self, source: NetPath, target: NetPath, datagram: bytes) -> None:
        gate = self._gates.get(target)
        if gate is not None:
            gate.deliver(source, datagram)


class MemoryGate:
    """One address on a MemoryNetwork."""

    def __init__(self, network: MemoryNetwork, receiver: GateReceiver, path: NetPath) -> None:
        self._network = network
        self._receiver = receiver
        self._path = path
        self.kinds = frozenset({path.kind})

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self._path,)

    def send(self, path: Path, data: Octets) -> None:
        if isinstance(path, NetPath):
            self._network.carry(self._path, path, bytes(data))

    def deliver(self, source: NetPath, datagram: bytes) -> None:
        try:
            packet = reveal(datagram)
        except DecodeError:
            return
        self._receiver.received(source, packet)
        self._receiver.drained()

    def flush(self) -> None:
        """Nothing waits here."""

    def hang_up(self, path: Path) -> None:
        """There are no connections here."""

    async def close(self) -> None:
        self._network.leave(self._path)
