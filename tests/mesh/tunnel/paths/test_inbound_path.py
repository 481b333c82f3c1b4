"""M5: packets on a path in."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.tunnel.paths.inbound_path import ACK_DELAY_S, InboundPath
from rookery.wire.mesh.tunnel_data import RANGES_MAX, TunnelAck
from rookery.wire.mesh.tunnel_packet import TunnelPacket, head, prefix


def told(inbound: InboundPath, now: float, room: int = 1000) -> TunnelAck:
    data = inbound.ack(now, room)
    assert data is not None
    (frame,) = TunnelPacket.parse(head(1, is_first=False), prefix(1, 0) + data).frames
    assert isinstance(frame, TunnelAck)
    return frame


def arrive(inbound: InboundPath, numbers: list[int], now: float = 0.0) -> None:
    for number in numbers:
        if not inbound.is_known(number):
            inbound.arrived(number, 1000, now, is_marked=False)


@given(st.lists(st.integers(1, 300), max_size=200))
def test_the_newest_ranges_are_told(numbers: list[int]) -> None:
    inbound = InboundPath(5)
    arrive(inbound, numbers)
    if not numbers:
        assert inbound.due_at is None
        return
    ack = told(inbound, 0.0)
    covered = {number for first, last in ack.ranges for number in range(first, last + 1)}
    assert covered <= set(numbers)
    assert max(numbers) in covered
    assert covered == set(numbers) or len(ack.ranges) == RANGES_MAX
    assert inbound.duplicates == len(numbers) - len(set(numbers))


def test_few_packets_in_order_wait_a_little_and_more_do_not() -> None:
    inbound = InboundPath(5)
    arrive(inbound, [1, 2, 3])
    assert inbound.due_at == ACK_DELAY_S
    arrive(inbound, [4], 0.001)
    assert inbound.due_at == 0.001
    told(inbound, 0.001)
    assert inbound.due_at is None


def test_a_gap_is_told_at_once() -> None:
    inbound = InboundPath(5)
    arrive(inbound, [1, 3])
    assert inbound.due_at == 0.0


def test_of_large_packets_every_third_is_told_at_once() -> None:
    """To tell costs both sides as much as a packet with bytes does."""
    inbound, told_at = InboundPath(5), []
    for number in range(1, 9):
        inbound.arrived(number, 60_000, number / 1000, is_marked=False)
        if inbound.due_at is not None and inbound.due_at <= number / 1000:
            told(inbound, number / 1000)
            told_at.append(number)
    assert told_at == [3, 6]


def test_the_delay_and_the_marks_are_told() -> None:
    inbound = InboundPath(5)
    inbound.arrived(1, 100, 1.0, is_marked=True)
    inbound.arrived(2, 100, 1.5, is_marked=True)
    assert told(inbound, 1.75) == TunnelAck(5, ((1, 2),), 250_000, 2)


def test_as_many_ranges_as_fit() -> None:
    inbound = InboundPath(5)
    arrive(inbound, [1, 3, 5, 7])
    assert inbound.ack(0.0, 29) is None
    assert told(inbound, 0.0, 45).ranges == ((7, 7), (5, 5))


def test_old_gaps_are_forgotten_and_what_fills_them_counts_as_known() -> None:
    inbound = InboundPath(5)
    arrive(inbound, [1, 3, 5])
    told(inbound, 0.0)
    arrive(inbound, [6], 3.0)
    told(inbound, 3.0)
    arrive(inbound, [7, 9], 6.0)
    assert told(inbound, 6.0).ranges == ((9, 9), (5, 7))
    assert inbound.is_known(2)
    assert not inbound.is_known(8)


def test_memory_is_bounded_whatever_is_missing() -> None:
    inbound = InboundPath(5)
    arrive(inbound, list(range(1, 10_000, 2)))
    assert inbound.is_known(2)
    assert not inbound.is_known(9_998)
