"""Our broker in place of the C++ one (C8): fed what was captured, it sends what was captured.

Acknowledgements are the tower's business, so they are left out here, and repeats count once.
"""

import pytest

from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.orders import BrokerClient, BrokerSend, chunk_size
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import LEGACY_PUBSUB, NODE, CrowPacket
from rookery.wire.crow.pubsub import BEAM_NODE, BROKER_NODE, CONTROL_NODE
from tests.wire.crow_captures import VECTORS, Step

BROKER_PORTS = {10009, 10010, 10019}
SEQUENCES = [
    "pubsub",
    "pubsub_latest",
    "request_ctrans",
    "crowker_control",
    "beam",
    "pubsub_tcp",
    "big_publish",
    "legacy_pubsub_type4",
]

# Where to, the bytes, the quality and the time code.
Sent = tuple[bytes, bytes, int, int]


class Replay:
    """A broker with only as much tower around it as one hop needs."""

    def __init__(self) -> None:
        self.broker = Broker(0.0)
        self.sent: list[Sent] = []

    def receive(self, step: Step) -> None:
        packet = CrowPacket.parse(step.packet)
        return_address = packet.address[:1] + bytes([127, 0, 0, 1])
        return_address += step.src_port.to_bytes(2, "big")
        if packet.type == LEGACY_PUBSUB:
            self.carry(self.broker.received_legacy(return_address, packet.data, step.t))
            return
        assert packet.type == NODE
        message = NodePacket.parse(packet.data)
        client = BrokerClient(return_address, message.sid)
        if message.rid == BROKER_NODE:
            self.carry(self.broker.received(client, message.data, step.t))
        elif message.rid == CONTROL_NODE:
            answer = self.broker.command(message.data)
            self.send(CONTROL_NODE, BrokerSend(client, answer, packet.qos, packet.ackquant_ms))
        else:
            assert message.rid == BEAM_NODE

    def carry(self, sends: list[BrokerSend]) -> None:
        for send in sends:
            self.send(BROKER_NODE, send)

    def send(self, sid: int, send: BrokerSend) -> None:
        pieces = [send.body]
        if send.client.node is not None:
            whole = NodePacket(sid, send.client.node, send.body)
            chunks = whole.chunks(chunk_size(send.body) or len(whole.serialize()))
            pieces = [chunk.serialize() for chunk in chunks]
        for data in pieces:
            packet = CrowPacket(
                0, False, send.client.address, 0, 0, send.qos, send.ackquant_ms, data
            )
            self.sent.append((packet.address, data, packet.qos, round(packet.timer_s * 1000)))


def captured(steps: list[Step]) -> list[Sent]:
    """What the C++ broker sent, repeats left out."""
    sent = {}
    for step in steps:
        packet = CrowPacket.parse(step.packet)
        if step.src_port in BROKER_PORTS and not packet.is_ack:
            timer_ms = round(packet.timer_s * 1000)
            sent[packet.seqid] = (packet.address, packet.data, packet.qos, timer_ms)
    return list(sent.values())


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_captured_conversation_runs_the_same(name: str) -> None:
    steps = VECTORS.sequences[name].steps
    replay = Replay()
    for step in steps:
        if step.dst_port in BROKER_PORTS and not CrowPacket.parse(step.packet).is_ack:
            replay.receive(step)
    assert replay.sent == captured(steps)
    assert not replay.broker.dropped
    assert bool(replay.sent) == (name != "beam")
