"""M4: what streams send within the credit of all."""

from rookery.mesh.tunnel.limits import WINDOW_START, TunnelLimits
from rookery.mesh.tunnel.packets.sent_packet import Segment
from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.mesh.tunnel.streams.stream_output import Parts, StreamOutput

LIMITS = TunnelLimits(backlog_max=4 * WINDOW_START)


def stream(number: int) -> Stream:
    made = Stream(number, ReceiveWindow(1 << 24, 0.0), is_ours=True)
    made.priority = 7
    return made


def fill(outflow: StreamOutput, room: int) -> list[Segment]:
    parts: Parts = []
    segments: list[Segment] = []
    used = outflow.fill(room, parts, segments)
    assert used == sum(len(part) for part in parts) <= room
    return segments


def test_what_must_be_repeated_needs_no_credit() -> None:
    """No deadlock: the tunnel's credit is spent and a packet was lost."""
    outflow, first, second = StreamOutput(LIMITS), stream(1), stream(3)
    outflow.write(first, bytes(600_000))
    outflow.write(second, bytes(600_000))
    while outflow.is_ready:
        fill(outflow, 60_000)
    assert outflow.credit_left == 0
    assert outflow.unsent == 1_200_000 - WINDOW_START
    first.sending.lost(0, 100, fin=False)
    outflow.changed(first)
    assert fill(outflow, 60_000) == [(first, 0, 100, False)]
    outflow.granted(WINDOW_START + 50)
    assert sum(end - start for _, start, end, _ in fill(outflow, 60_000)) == 50
    outflow.granted(WINDOW_START)
    assert not fill(outflow, 60_000)


def test_a_stream_ends_once() -> None:
    """An end that is under way is not sent again until it is lost."""
    outflow, only = StreamOutput(LIMITS), stream(1)
    outflow.write(only, b"hello")
    only.sending.finish()
    assert fill(outflow, 1000) == [(only, 0, 5, True)]
    assert not outflow.is_ready


def test_who_waits_for_room_is_told_once_half_is_free() -> None:
    outflow, only = StreamOutput(TunnelLimits(backlog_max=1000)), stream(1)
    assert outflow.write(only, bytes(1500)) == 1000
    assert outflow.backlog == float("inf")
    assert outflow.take_writable() == []
    fill(outflow, 617)
    assert outflow.take_writable() == [only]
    assert outflow.take_writable() == []
    assert outflow.backlog == 400


def test_what_is_given_up_waits_no_more() -> None:
    outflow, only = StreamOutput(LIMITS), stream(1)
    outflow.write(only, bytes(1000))
    outflow.give_up(only, 5)
    assert outflow.unsent == 0
    assert fill(outflow, 1000) == []
    assert not outflow.is_ready
