"""M5: whose turn it is."""

from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.mesh.tunnel.streams.stream_output import StreamRoundRobin, quantum


def stream(number: int, priority: int = 3) -> Stream:
    made = Stream(number, ReceiveWindow(1 << 24, 0.0), is_ours=True)
    made.priority = priority
    return made


def test_who_is_alone_may_send_all_it_likes() -> None:
    turns, only = StreamRoundRobin(), stream(1)
    turns.add(only)
    turns.add(only)
    assert len(turns) == 1
    assert turns.allowance(only) > 1 << 60


def test_a_newcomer_comes_first_and_then_takes_its_turn() -> None:
    turns, bulk, small = StreamRoundRobin(), stream(1), stream(3)
    turns.add(bulk)
    turns.spent(bulk, 100_000)
    turns.add(small)
    assert turns.first is small
    assert turns.allowance(small) == quantum(small)
    turns.spent(small, quantum(small))
    assert turns.first is bulk


def test_shares_follow_priorities() -> None:
    turns, low, high = StreamRoundRobin(), stream(1, 2), stream(3, 4)
    sent = {1: 0, 3: 0}
    turns.add(low)
    turns.add(high)
    for _ in range(10_000):
        first = turns.first
        assert first is not None
        sent[first.id] += 1000
        turns.spent(first, 1000)
    assert 3.0 < sent[3] / sent[1] < 5.0


def test_who_has_nothing_to_send_is_out() -> None:
    turns, only = StreamRoundRobin(), stream(1)
    turns.add(only)
    turns.drop_first()
    assert turns.first is None
    assert not only.is_queued
