"""M5, M6: a tunnel over several paths, some of which come and go."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.mesh.tunnel.paths.path import STREAM_MTU, TunnelPathKind
from rookery.mesh.tunnel.paths.scheduler import Mode
from tests.mesh.tunnel.tunnel_world import Lane, Road, TunnelWorld, pattern

MODES = st.sampled_from(list(Mode))


@st.composite
def roads(draw: st.DrawFn) -> list[Road]:
    made = []
    for number in range(draw(st.integers(1, 3))):
        lanes = [
            Lane(
                draw(st.floats(0.001, 0.1)),
                draw(st.floats(0.0, 0.03)),
                draw(st.floats(0.0, 0.3)),
                draw(st.floats(0.0, 0.2)),
                draw(st.sampled_from([None, 200_000.0, 2e6])),
            )
            for _ in range(2)
        ]
        kind = draw(st.sampled_from(list(TunnelPathKind)))
        mtu = draw(st.sampled_from([600, 1100, STREAM_MTU]))
        made.append(Road(number + 1, lanes[0], lanes[1], kind, mtu))
    return made


@pytest.mark.slow
@settings(max_examples=25)
@given(
    made=roads(),
    mode=MODES,
    seed=st.integers(0, 2**16),
    flaps=st.lists(
        st.tuples(st.floats(0.0, 2.0), st.integers(1, 3), st.sampled_from(["down", "block"])),
        max_size=5,
    ),
)
def test_streams_are_byte_exact_while_paths_flap(
    made: list[Road], mode: Mode, seed: int, flaps: list[tuple[float, int, str]]
) -> None:
    """M5: every path dies or is cut for a while; partitions end before the limit."""
    world = TunnelWorld(made, seed, mode)
    for at_s, number, how in flaps:
        road = world.roads.get(number)
        if road is None:
            continue
        if how == "down":
            world.at(at_s, lambda number=number: world.down(number))  # type: ignore[misc]
            world.at(at_s + 1.0, lambda road=road: world.up(road))  # type: ignore[misc]
        else:
            world.at(at_s, lambda number=number: world.block(number))  # type: ignore[misc]
            world.at(at_s + 1.0, lambda number=number: world.unblock(number))  # type: ignore[misc]
    there, back = pattern(150_000, 1), pattern(40_000, 2)
    first, second = world.near.send(there), world.far.send(back)
    world.run(lambda: first in world.far.finished and second in world.near.finished)
    assert bytes(world.far.read[first]) == there
    assert bytes(world.near.read[second]) == back


def test_a_dead_path_loses_nothing_and_costs_no_waiting() -> None:
    """M5, R9: what was on it goes elsewhere at once."""
    world = TunnelWorld([Road(1, Lane(0.02, rate=1e6)), Road(2, Lane(0.03, rate=1e6))])
    stream = world.near.send(pattern(1_500_000))
    world.run(limit_s=0.5)
    gaps: list[float] = []
    last = [world.now]

    def noted(stream: int, data: bytes, now: float) -> None:
        gaps.append(now - last[0])
        last[0] = now

    world.far.on_data = noted
    world.down(1)
    world.run(lambda: stream in world.far.finished)
    assert max(gaps) < 0.2  # what waits before it on the other path
    assert world.near.tunnel.explain().reinjected["their path died"] > 0


@pytest.mark.parametrize("kind", list(TunnelPathKind))
def test_a_path_that_falls_silent_is_left_within_a_few_round_trips(kind: TunnelPathKind) -> None:
    """R9: nobody says that it is dead."""
    mtu = STREAM_MTU if kind is TunnelPathKind.STREAM else 1100
    world = TunnelWorld(
        [
            Road(1, Lane(0.02, rate=1e6), kind=kind, mtu=mtu),
            Road(2, Lane(0.03, rate=1e6), kind=kind, mtu=mtu),
        ]
    )
    stream = world.near.send(pattern(2_000_000))
    world.run(limit_s=0.5)
    gaps: list[float] = []
    last = [world.now]

    def noted(stream: int, data: bytes, now: float) -> None:
        gaps.append(now - last[0])
        last[0] = now

    world.far.on_data = noted
    world.block(1)
    world.run(lambda: stream in world.far.finished)
    assert max(gaps) < 0.5
    assert world.near.tunnel.explain().reinjected["their path fell silent"] > 0
    rows = {row.id: row for row in world.near.tunnel.explain().paths}
    assert rows[1].is_silent
    assert not rows[2].is_silent


@pytest.mark.slow
def test_a_silent_path_is_used_again_once_it_answers() -> None:
    world = TunnelWorld([Road(1, Lane(0.02, rate=1e6)), Road(2, Lane(0.03, rate=1e6))])
    world.block(1)
    world.at(1.0, lambda: world.unblock(1))
    stream = world.near.send(pattern(4_000_000))
    world.run(lambda: stream in world.far.finished)
    rows = {row.id: row for row in world.near.tunnel.explain().paths}
    assert not rows[1].is_silent
    assert rows[1].sent_packets > 500


@pytest.mark.parametrize("is_near", [True, False])
def test_a_path_that_is_cut_in_one_direction_only_is_left_too(is_near: bool) -> None:
    """R9"""
    world = TunnelWorld([Road(1, Lane(0.02, rate=1e6)), Road(2, Lane(0.03, rate=1e6))])
    stream = world.near.send(pattern(1_500_000))
    world.run(limit_s=0.3)
    world.roads[1].lane(is_near=is_near).is_blocked = True
    took = world.run(lambda: stream in world.far.finished)
    assert took < 2.5
    assert bytes(world.far.read[stream]) == pattern(1_500_000)


def test_small_writes_take_the_quickest_path_only() -> None:
    """M6: while little waits there is no reason for the other."""
    world = TunnelWorld([Road(1, Lane(0.01)), Road(2, Lane(0.05))])
    stream = world.near.send(b"hello", finish=False)
    world.run(limit_s=1.0)
    for index in range(20):
        world.near.write_on(stream, bytes(500))
        world.run(limit_s=0.1 + index / 1000)
    rows = {row.id: row for row in world.near.tunnel.explain().paths}
    assert rows[1].sent_packets > 20
    assert rows[2].sent_packets <= 3


def test_the_end_of_a_stream_goes_by_two_paths() -> None:
    """M6: and so arrives although one of them swallows it."""
    world = TunnelWorld([Road(1, Lane(0.01)), Road(2, Lane(0.012))])
    world.near.send(b"first", finish=False)
    world.run(limit_s=0.5)
    world.block(1)
    stream = world.near.send(pattern(1000))
    took = world.run(lambda: stream in world.far.finished)
    assert took < 0.02
    assert world.near.tunnel.explain().decisions["the end of a stream by two paths"] > 0


def test_single_uses_one_path_until_it_dies() -> None:
    """M6"""
    world = TunnelWorld([Road(1, Lane(0.03)), Road(2, Lane(0.01))], mode=Mode.SINGLE)
    stream = world.near.send(pattern(200_000), finish=False)
    world.run(lambda: len(world.far.read.get(stream, b"")) == 200_000)
    rows = {row.id: row for row in world.near.tunnel.explain().paths}
    assert rows[1].sent_packets <= 2  # to measure it
    world.down(2)
    world.near.write_on(stream, pattern(100_000), finish=True)
    world.run(lambda: stream in world.far.finished)


def test_weighted_shares_as_prescribed() -> None:
    """M6"""
    made = [
        Road(1, Lane(0.01, rate=1e6), weight=3.0),
        Road(2, Lane(0.01, rate=1e6), weight=1.0),
    ]
    world = TunnelWorld(made, mode=Mode.WEIGHTED)
    stream = world.near.send(pattern(300_000))
    world.run(lambda: stream in world.far.finished)
    rows = {row.id: row for row in world.near.tunnel.explain().paths}
    assert 2.5 < rows[1].sent_size / rows[2].sent_size < 3.5


def test_redundant_sends_everything_by_every_path() -> None:
    """M6"""
    world = TunnelWorld([Road(1, Lane(0.01)), Road(2, Lane(0.01))], mode=Mode.REDUNDANT)
    stream = world.near.send(pattern(100_000), finish=False)
    world.run(limit_s=2.0)
    rows = {row.id: row for row in world.near.tunnel.explain().paths}
    assert min(rows[1].sent_size, rows[2].sent_size) > 80_000
    assert len(world.far.read[stream]) == 100_000


def test_marks_of_relays_lower_the_rate() -> None:
    """M5: the queue stays short although it would hold a second."""
    marking = Lane(0.02, rate=1e6, queue_s=1.0, mark_s=0.02)
    world = TunnelWorld([Road(1, marking)])
    stream = world.near.send(pattern(3_000_000))
    queue: list[float] = []
    world.far.on_data = lambda _, __, now: queue.append(marking.busy_until - now)
    took = world.run(lambda: stream in world.far.finished)
    queue.sort()
    assert queue[len(queue) * 9 // 10] < 0.06
    assert took < 3.0 * 1.25


def test_the_choice_is_explained_in_words() -> None:
    """M6"""
    world = TunnelWorld([Road(1, Lane(0.01, rate=1e6)), Road(2, Lane(0.04, rate=1e6))])
    stream = world.near.send(pattern(500_000))
    world.run(lambda: stream in world.far.finished)
    lines = world.near.tunnel.explain().lines()
    assert lines[0] == "open, scheduler auto"
    assert any("path 1 (datagram" in line for line in lines)
    assert any("earliest delivery" in line for line in lines)
