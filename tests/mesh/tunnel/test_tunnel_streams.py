"""M4: what programs do with streams, and what the other side hears of it."""

import pytest

from rookery.errors import ChannelError, UsageError
from rookery.mesh.tunnel.events import StreamReset, StreamWritable
from rookery.mesh.tunnel.limits import WINDOW_START
from tests.mesh.tunnel.tunnel_world import Lane, Road, TunnelWorld, pattern


def world_with(loss: float = 0.0) -> TunnelWorld:
    return TunnelWorld([Road(1, Lane(0.01, loss=loss, rate=2e6))])


def both_forget(world: TunnelWorld) -> None:
    world.run(lambda: world.near.tunnel.streams == world.far.tunnel.streams == 0)


def test_an_opening_larger_than_a_packet_arrives() -> None:
    """M4: service, metadata and priority."""
    world = world_with(0.1)
    meta = {"path": "x" * 3000, "n": 7}
    stream = world.near.tunnel.open("proxy", meta, 5)
    world.run(lambda: stream in world.far.opened)
    opened = world.far.opened[stream]
    assert (opened.service, opened.meta, opened.priority) == ("proxy", meta, 5)


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_a_reset_ends_both_halves_on_both_sides(loss: float) -> None:
    """M4: with its code, and once."""
    world = world_with(loss)
    stream = world.near.send(pattern(3_000_000))
    world.run(lambda: len(world.far.read.get(stream, b"")) > 50_000)
    world.far.write_on(stream, pattern(3_000_000))
    world.run(limit_s=0.05)
    world.near.pending.clear()
    world.near.tunnel.reset(stream, 42)
    world.run(lambda: stream in world.far.resets)
    both_forget(world)
    assert [event for event in world.far.events if isinstance(event, StreamReset)] == [
        StreamReset(stream, 42)
    ]
    assert world.far.stopped == {stream: 42}
    assert not any(isinstance(event, StreamReset) for event in world.near.events)
    assert world.near.tunnel.at_end(stream)
    assert world.near.tunnel.read(stream, 10) == b""
    with pytest.raises(ChannelError):
        world.near.tunnel.write(stream, b"more", world.now)
    world.near.tunnel.reset(stream, 1)
    world.near.tunnel.finish(stream)


@pytest.mark.slow
def test_resets_of_many_streams_leave_the_credit_whole() -> None:
    """M4: what was given up counts as read, on both sides."""
    world = world_with(0.1)
    for _ in range(30):
        stream = world.near.send(pattern(200_000))
        world.run(lambda stream=stream: stream in world.far.opened)  # type: ignore[misc]
        world.near.pending.clear()
        world.near.tunnel.reset(stream, 1)
    last = world.near.send(pattern(2 * WINDOW_START))
    world.run(lambda: last in world.far.finished)
    world.far.tunnel.finish(last)
    both_forget(world)


def test_who_stops_reading_lets_the_other_half_go_on() -> None:
    world = world_with()
    stream = world.near.send(pattern(3_000_000))
    world.run(lambda: stream in world.far.opened)
    world.far.tunnel.stop(stream, 9)
    world.far.write_on(stream, b"enough, thanks", finish=True)
    world.run(lambda: stream in world.near.finished)
    assert (world.near.stopped, world.near.resets) == ({stream: 9}, {})
    assert bytes(world.near.read[stream]) == b"enough, thanks"
    assert world.far.tunnel.at_end(stream)
    both_forget(world)


def test_a_write_to_what_was_given_up_says_so() -> None:
    world = world_with()
    stream = world.near.tunnel.open("test")
    world.near.tunnel.reset(stream, 5)
    with pytest.raises(ChannelError, match="code 5"):
        world.near.tunnel.write(stream, b"more", 0.0)
    world.run(limit_s=1.0)
    assert world.near.tunnel.streams == world.far.tunnel.streams == 0


def test_a_half_that_is_finished_takes_no_more_and_the_other_still_does() -> None:
    """M4: half-close."""
    world = world_with()
    stream = world.near.send(b"question")
    world.run(lambda: stream in world.far.finished)
    with pytest.raises(UsageError):
        world.near.tunnel.write(stream, b"more", world.now)
    assert world.far.tunnel.at_end(stream)
    assert not world.near.tunnel.at_end(stream)
    world.far.write_on(stream, pattern(100_000), finish=True)
    world.run(lambda: stream in world.near.finished)
    assert bytes(world.near.read[stream]) == pattern(100_000)
    both_forget(world)


def test_a_slow_reader_makes_the_writer_wait() -> None:
    """M4: back-pressure, and news when there is room again."""
    world = world_with()
    world.far.reads = False
    stream = world.near.send(pattern(4 * WINDOW_START))
    world.run(limit_s=5.0)
    left = len(world.near.pending[stream][0])
    assert left > 2 * WINDOW_START
    world.run(limit_s=5.0)
    assert len(world.near.pending[stream][0]) == left
    seen = len(world.near.events)
    world.far.reads = True
    world.run(lambda: stream in world.far.finished)
    assert StreamWritable(stream) in world.near.events[seen:]
    assert bytes(world.far.read[stream]) == pattern(4 * WINDOW_START)


def test_bytes_that_may_change_are_copied() -> None:
    world = world_with()
    stream = world.near.tunnel.open("test")
    data = bytearray(b"a" * 5000)
    world.near.tunnel.write(stream, memoryview(data), 0.0)
    data[:] = b"b" * 5000
    world.run(lambda: len(world.far.read.get(stream, b"")) == 5000)
    assert bytes(world.far.read[stream]) == b"a" * 5000


@pytest.mark.parametrize(
    ("service", "meta", "priority"),
    [("x" * 256, {}, 3), ("x", {"m": "x" * 5000}, 3), ("x", {}, 8), ("x", {}, -1)],
)
def test_what_fits_no_opening_is_refused(
    service: str, meta: dict[str, object], priority: int
) -> None:
    with pytest.raises(UsageError):
        world_with().near.tunnel.open(service, meta, priority)


def test_after_the_close_what_came_can_still_be_read() -> None:
    world = world_with()
    world.far.reads = False
    stream = world.near.send(b"last words", finish=False)
    world.run(lambda: stream in world.far.opened)
    world.run(limit_s=0.1)
    world.near.tunnel.close()
    world.near.tunnel.reset(stream, 0)
    tunnel = world.far.tunnel
    assert not tunnel.at_end(stream)
    assert tunnel.read(stream, 100) == b"last words"
    world.run(lambda: world.far.closed is not None)
    assert tunnel.at_end(stream)
