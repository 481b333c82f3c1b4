"""A peer that is no tower of ours: it says what a test wants it to say, defects included."""

from collections.abc import Callable

from rookery.sim.crow_world import CrowWorld, SimulatedTower, udp_hop
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import ACK, ACK21, ACK22, NODE, CrowPacket
from rookery.wire.link.path import NetPath

Reaction = Callable[[CrowPacket, bytes], None]


class CppPeer:
    """Listens at an address, keeps what comes, and reacts by itself only as it is told to."""

    def __init__(self, world: CrowWorld, ip: str = "10.0.9.9", port: int = 10009) -> None:
        self.path = NetPath("udp4", ip, port)
        self.received: list[CrowPacket] = []
        self.times: list[float] = []
        self.seqid = 0  # as the library's default
        self.react: Reaction = lambda packet, return_address: None
        self._world = world
        world.listen(self.path, self._listen)

    @property
    def hop(self) -> bytes:
        return udp_hop(self.path)

    @property
    def acks(self) -> list[tuple[int, int]]:
        """Type and number of every acknowledgement that came."""
        return [(each.type, each.seqid) for each in self.received if each.is_ack]

    @property
    def data(self) -> list[bytes]:
        """The data of everything that came and is no acknowledgement."""
        return [each.data for each in self.received if not each.is_ack]

    @property
    def node_packets(self) -> list[NodePacket]:
        return [NodePacket.parse(data) for data in self.data]

    def send(
        self,
        target: SimulatedTower,
        data: bytes,
        *,
        qos: int = 0,
        kind: int = 0,
        seqid: int | None = None,
        ackquant_ms: int = 50,
    ) -> None:
        """Send a packet with the next number, or with the one that is asked for."""
        if seqid is None:
            seqid, self.seqid = self.seqid, self.seqid + 1
        packet = CrowPacket(kind, False, target.hop, 0, seqid, qos, ackquant_ms, data)
        self.send_raw(target, packet.serialize())

    def send_node(self, target: SimulatedTower, packet: NodePacket, qos: int = 0) -> None:
        self.send(target, packet.serialize(), kind=NODE, qos=qos)

    def send_raw(self, target: SimulatedTower, data: bytes) -> None:
        assert target.path is not None
        self._world.send(self.path, target.path, data)

    def send_ack(self, kind: int, packet: CrowPacket, return_address: bytes) -> None:
        """Acknowledge what came, along the way it came."""
        ack = CrowPacket(kind, True, return_address, 0, packet.seqid, 0, packet.ackquant_ms, b"")
        port = int.from_bytes(return_address[5:7], "big")
        ip = ".".join(map(str, return_address[1:5]))
        self._world.send(self.path, NetPath("udp4", ip, port), ack.serialize())

    def acknowledge(self, packet: CrowPacket, return_address: bytes) -> None:
        """The reaction of a C++ tower to a packet."""
        if packet.is_ack and packet.type == ACK21:
            self.send_ack(ACK22, packet, return_address)
        elif not packet.is_ack and packet.qos:
            self.send_ack(ACK if packet.qos == 1 else ACK21, packet, return_address)

    def _listen(self, source: NetPath, data: bytes) -> None:
        packet = CrowPacket.parse(data).hop(udp_hop(source)[::-1])
        self.received.append(packet)
        self.times.append(self._world.now)
        self.react(packet, packet.return_address)
