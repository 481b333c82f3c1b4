"""M4: a tunnel over one way."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.mesh.tunnel.paths.path import TunnelPath, TunnelPathKind
from rookery.mesh.tunnel.tunnel import Tunnel, TunnelRole, TunnelState
from rookery.wire.mesh.tunnel_data import TunnelAck, TunnelData
from rookery.wire.mesh.tunnel_frames import Frame
from rookery.wire.mesh.tunnel_packet import TunnelPacket
from tests.mesh.tunnel.tunnel_world import Lane, Road, TunnelWorld, pattern


def test_a_stream_arrives_byte_for_byte() -> None:
    """M4"""
    world = TunnelWorld([Road(1)])
    data = pattern(300_000)
    stream = world.near.send(data)
    world.run(lambda: stream in world.far.finished)
    assert bytes(world.far.read[stream]) == data


def test_what_was_acknowledged_is_looked_at_later_by_the_time_it_came() -> None:
    """Programs wait for what came beside it, so it waits for the next flush."""
    near = Tunnel(TunnelRole.OPENER, random=bytes, now=0.0, number=7)
    near.path_up(TunnelPath(id=1, kind=TunnelPathKind.STREAM, mtu=61440, rtt_s=1.0), 0.0)
    stream = near.open("echo")
    near.write(stream, b"question", 0.0)
    (sent,) = near.flush(0.0)
    number = TunnelPacket.parse(sent[1], b"".join(sent[2])).number
    frames: list[Frame] = [TunnelAck(1, ((number, number),)), TunnelData(stream, 0, b"answer")]
    near.received(1, *TunnelPacket(7, 1, 1, frames).serialize(), 0.25)
    assert near.read(stream, 100) == b"answer"
    assert near.in_flight
    near.flush(0.75)
    assert not near.in_flight
    assert near.explain().paths[0].rtt_s == 0.25


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**16),
    loss=st.floats(0.0, 0.3),
    jitter_s=st.floats(0.0, 0.05),
    duplication=st.floats(0.0, 0.3),
    sizes=st.lists(st.integers(0, 60_000), min_size=1, max_size=5),
)
def test_streams_are_byte_exact_over_a_bad_path(
    seed: int, loss: float, jitter_s: float, duplication: float, sizes: list[int]
) -> None:
    """M4: 0 lost, 0 repeated, 0 reordered, both ways at once."""
    lanes = [Lane(0.01, jitter_s, loss, duplication) for _ in range(2)]
    world = TunnelWorld([Road(1, lanes[0], lanes[1])], seed)
    texts = {}
    for index, size in enumerate(sizes):
        end = (world.near, world.far)[index % 2]
        texts[end.send(pattern(size, index))] = pattern(size, index)
    ends = (world.far, world.near)
    world.run(lambda: sum(len(end.finished) for end in ends) == len(sizes))
    arrived = {stream: bytes(data) for end in ends for stream, data in end.read.items()}
    assert arrived == texts
    for end in ends:
        for stream in end.opened:
            end.tunnel.finish(stream)
    world.run(lambda: world.near.tunnel.streams == world.far.tunnel.streams == 0)
    assert world.near.tunnel.state is TunnelState.OPEN
