"""M4: a tunnel without any path waits."""

import pytest

from rookery.errors import ChannelError
from rookery.mesh.tunnel.events import CloseCode, TunnelClosed, TunnelResumed, TunnelStalled
from rookery.mesh.tunnel.limits import TunnelLimits
from rookery.mesh.tunnel.tunnel import TunnelState
from tests.mesh.tunnel.tunnel_world import Lane, Road, TunnelWorld, pattern


def state(world: TunnelWorld) -> TunnelState:
    return world.near.tunnel.state


def test_a_stream_goes_on_where_it_was_when_a_path_appears() -> None:
    """M4: also under another number, as after a change of address."""
    world = TunnelWorld([Road(1, Lane(0.01, rate=1e6))])
    data = pattern(600_000)
    stream = world.near.send(data)
    world.run(limit_s=0.2)
    world.down(1)
    assert state(world) is TunnelState.STALLED
    world.run(limit_s=30.0)
    assert stream not in world.far.finished
    world.up(Road(7, Lane(0.03)))
    assert state(world) is TunnelState.OPEN
    took = world.run(lambda: stream in world.far.finished)
    assert took < 2.0
    assert bytes(world.far.read[stream]) == data
    assert [
        event for event in world.near.events if isinstance(event, TunnelStalled | TunnelResumed)
    ] == [
        TunnelStalled(),
        TunnelResumed(),
    ]


def test_the_same_number_may_come_back() -> None:
    world = TunnelWorld([Road(1)])
    stream = world.near.send(pattern(300_000))
    for _ in range(5):
        world.run(limit_s=0.03)
        world.down(1)
        world.run(limit_s=0.5)
        world.up(Road(1))
    world.run(lambda: stream in world.far.finished)
    assert bytes(world.far.read[stream]) == pattern(300_000)


def test_a_tunnel_that_is_stalled_too_long_is_reset() -> None:
    """M4: 60 s unless told otherwise."""
    world = TunnelWorld([Road(1)], limits=TunnelLimits(stall_s=20.0))
    stream = world.near.send(b"hello", finish=False)
    world.run(limit_s=1.0)
    world.down(1)
    world.run(limit_s=19.9)
    assert world.near.closed is None
    world.run(limit_s=0.2)
    expected = TunnelClosed(CloseCode.STALLED, "no way for too long", is_remote=False)
    assert world.near.closed == world.far.closed == expected
    assert world.near.tunnel.state is TunnelState.RESET
    with pytest.raises(ChannelError):
        world.near.tunnel.write(stream, b"more", world.now)
    with pytest.raises(ChannelError):
        world.near.tunnel.open("other")
    assert world.near.tunnel.deadline is None


def test_a_cut_that_nobody_notices_ends_and_the_stream_goes_on() -> None:
    """M4: no number of tries ends a stream, only time."""
    world = TunnelWorld([Road(1, Lane(0.01, rate=1e6))])
    stream = world.near.send(pattern(500_000))
    world.run(limit_s=0.1)
    world.block(1)
    world.run(limit_s=45.0)
    world.unblock(1)
    took = world.run(lambda: stream in world.far.finished)
    assert took < 3.5
    assert bytes(world.far.read[stream]) == pattern(500_000)


def test_an_idle_tunnel_is_quiet_and_a_path_with_streams_is_measured_now_and_then() -> None:
    world = TunnelWorld([Road(1)])
    stream = world.near.send(b"hello")
    world.run(lambda: stream in world.far.finished)
    packets = world.packets
    world.run(limit_s=50.0)
    assert 10 <= world.packets - packets <= 60
    world.far.tunnel.finish(stream)
    world.run(lambda: world.near.tunnel.streams == 0)
    world.run(limit_s=1.0)
    packets = world.packets
    world.run(limit_s=50.0)
    assert world.packets == packets
