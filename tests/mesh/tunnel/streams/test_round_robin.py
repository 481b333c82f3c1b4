"""M5: whose turn it is."""

from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.mesh.tunnel.streams.stream_output import StreamRoundRobin, quantum


def stream(number: int, priority: int = 3) -> Stream:
    made = Stream(number, ReceiveWindow(1 << 24, 0.0), is_ours=True)
    made.priority = priority
    return made


def test_who_is_alone_may_send_all_it_likes() -> None:
    round_robin, only = StreamRoundRobin(), stream(1)
    round_robin.add(only)
    round_robin.add(only)
    assert len(round_robin) == 1
    assert round_robin.allowance(only) > 1 << 60


def test_a_newcomer_comes_first_and_then_takes_its_turn() -> None:
    round_robin, bulk, small = StreamRoundRobin(), stream(1), stream(3)
    round_robin.add(bulk)
    round_robin.spent(bulk, 100_000)
    round_robin.add(small)
    assert round_robin.first is small
    assert round_robin.allowance(small) == quantum(small)
    round_robin.spent(small, quantum(small))
    assert round_robin.first is bulk


def test_shares_follow_priorities() -> None:
    round_robin, low, high = StreamRoundRobin(), stream(1, 2), stream(3, 4)
    sent = {1: 0, 3: 0}
    round_robin.add(low)
    round_robin.add(high)
    for _ in range(10_000):
        first = round_robin.first
        assert first is not None
        sent[first.id] += 1000
        round_robin.spent(first, 1000)
    assert 3.0 < sent[3] / sent[1] < 5.0


def test_who_has_nothing_to_send_is_out() -> None:
    round_robin, only = StreamRoundRobin(), stream(1)
    round_robin.add(only)
    round_robin.drop_first()
    assert round_robin.first is None
    assert not only.is_queued
