"""M5: packets on a path out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import ProtocolError
from rookery.mesh.tunnel.packets.sent_packet import SentPacket
from rookery.mesh.tunnel.paths.outbound_path import OutboundPath
from rookery.mesh.tunnel.paths.path import TunnelPath, TunnelPathKind
from rookery.wire.mesh.tunnel_data import TunnelAck

FAR = 255  # no number is left out among the first 255


def outbound(byte: int = FAR, kind: TunnelPathKind = TunnelPathKind.DATAGRAM) -> OutboundPath:
    path = TunnelPath(id=1, kind=kind, rtt_s=0.1)
    return OutboundPath(path, 1, lambda size: bytes((byte,)) * size, 0.0)


def send(path: OutboundPath, count: int, now: float) -> list[int]:
    numbers = []
    for _ in range(count):
        number = path.number()
        path.left(SentPacket(number, 1000, now, [], []))
        numbers.append(number)
    return numbers


def test_what_arrives_leaves_the_path() -> None:
    path = outbound()
    assert send(path, 3, 0.0) == [1, 2, 3]
    assert path.in_flight == 3000
    arrived = path.acknowledged(TunnelAck(1, ((3, 3), (1, 1))), 0.1)
    assert sorted(packet.number for packet in arrived) == [1, 3]
    assert path.in_flight == 1000
    assert path.round_trip.smoothed_s == pytest.approx(0.1)
    assert path.acknowledged(TunnelAck(1, ((3, 3), (1, 1))), 0.2) == []


def test_what_a_busy_machine_misses_of_the_pace_is_made_up_for() -> None:
    """M5: else it would measure its own lateness, and pace itself by that."""
    path = outbound()
    send(path, 1, 0.0)
    path.acknowledged(TunnelAck(1, ((1, 1),)), 0.1)
    pace, now = path.congestion.pacing_rate, 0.1
    assert pace > 0
    path.congestion.window = 1 << 30
    begun, sent = now, path.sent_size
    while now < begun + 1.0:
        while path.has_room(now):
            send(path, 1, now)
        now = max(now, path.paced_at) + 0.015  # the machine had something else to do
    assert path.sent_size - sent == pytest.approx(pace, rel=0.05)


def test_a_pause_is_not_made_up_for() -> None:
    path = outbound()
    send(path, 1, 0.0)
    path.acknowledged(TunnelAck(1, ((1, 1),)), 0.1)
    path.congestion.window = 1 << 30
    sent = path.sent_size
    while path.has_room(9.0):
        send(path, 1, 9.0)
    assert path.sent_size - sent < path.congestion.pacing_rate * 0.025 + 1000


def test_three_later_packets_make_a_loss() -> None:
    path = outbound()
    send(path, 4, 0.0)
    path.acknowledged(TunnelAck(1, ((3, 3),)), 0.1)
    assert path.take_lost(0.1) == []
    path.acknowledged(TunnelAck(1, ((4, 4),)), 0.1)
    assert [packet.number for packet in path.take_lost(0.1)] == [1]
    assert path.lost_packets == 1


def test_time_makes_a_loss_only_of_what_was_overtaken() -> None:
    """9/8 of a round trip."""
    path = outbound()
    send(path, 3, 0.0)
    path.acknowledged(TunnelAck(1, ((2, 2),)), 0.1)
    assert path.take_lost(0.1) == []
    assert path.deadline == pytest.approx(0.1125, abs=1e-5)
    assert [packet.number for packet in path.take_lost(0.113)] == [1]
    assert list(path.sent) == [3]


def test_silence_probes_ever_more_slowly_and_an_answer_ends_it() -> None:
    path = outbound()
    send(path, 2, 0.0)
    waits, now = [], 0.0
    for _ in range(8):
        deadline = path.deadline
        assert deadline is not None
        waits.append(deadline - now)
        now = deadline
        assert not path.is_overdue(now - 0.001)
        assert path.is_overdue(now)
        assert path.is_silent
    assert waits[:3] == pytest.approx([0.325, 0.65, 1.3])
    assert max(waits) == pytest.approx(2.0)
    path.acknowledged(TunnelAck(1, ((1, 2),)), now + 0.1)
    assert not path.is_silent
    assert path.deadline is not None
    path.take_lost(now + 0.1)
    assert path.deadline is None


def test_a_number_is_left_out_and_who_names_it_is_lying() -> None:
    path = outbound(0)
    assert send(path, 3, 0.0) == [1, 3, 4]
    path.acknowledged(TunnelAck(1, ((3, 4), (1, 1))), 0.1)
    with pytest.raises(ProtocolError):
        path.acknowledged(TunnelAck(1, ((1, 4),)), 0.1)


def test_what_was_never_sent_cannot_arrive() -> None:
    path = outbound()
    send(path, 3, 0.0)
    with pytest.raises(ProtocolError):
        path.acknowledged(TunnelAck(1, ((4, 4),)), 0.1)


def test_a_huge_range_costs_no_more_than_what_is_under_way() -> None:
    path = OutboundPath(
        TunnelPath(id=1, kind=TunnelPathKind.DATAGRAM), 2**60, lambda size: b"\xff" * size, 0.0
    )
    send(path, 1, 0.0)
    path.acknowledged(TunnelAck(1, ((2**60, 2**60),)), 0.1)
    send(path, 3, 0.2)
    del path.sent[2**60 + 2]
    arrived = path.acknowledged(TunnelAck(1, ((1, 2**60 + 3),)), 0.3)
    assert len(arrived) == 2


def test_a_dead_path_gives_everything_back() -> None:
    path = outbound()
    send(path, 5, 0.0)
    assert len(path.take_all()) == 5
    assert (path.in_flight, path.deadline) == (0, None)


@settings(max_examples=50)
@given(st.data())
def test_every_packet_meets_one_fate_and_the_count_is_right(data: st.DataObject) -> None:
    path = outbound(7)
    now, fates = 0.0, dict[int, str]()
    pending: list[int] = []
    for _ in range(data.draw(st.integers(1, 30))):
        now += 0.01
        pending += send(path, data.draw(st.integers(0, 5)), now)
        seen = sorted(data.draw(st.sets(st.sampled_from(pending)))) if pending else []
        if seen:
            ranges = tuple((number, number) for number in reversed(seen[-32:]))
            for packet in path.acknowledged(TunnelAck(1, ranges), now):
                assert packet.number not in fates
                fates[packet.number] = "arrived"
        for packet in path.take_lost(now):
            assert packet.number not in fates
            fates[packet.number] = "lost"
    assert path.in_flight == 1000 * len(path.sent)
    assert set(fates) | set(path.sent) == set(pending)
