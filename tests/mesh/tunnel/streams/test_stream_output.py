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


def fill(output: StreamOutput, room: int) -> list[Segment]:
    parts: Parts = []
    segments: list[Segment] = []
    used = output.fill(room, parts, segments)
    assert used == sum(len(part) for part in parts) <= room
    return segments


def test_what_must_be_repeated_needs_no_credit() -> None:
    """No deadlock: the tunnel's credit is spent and a packet was lost."""
    output, first, second = StreamOutput(LIMITS), stream(1), stream(3)
    output.write(first, bytes(600_000))
    output.write(second, bytes(600_000))
    while output.is_ready:
        fill(output, 60_000)
    assert output.credit_left == 0
    assert output.unsent == 1_200_000 - WINDOW_START
    first.sending.lost(0, 100, fin=False)
    output.changed(first)
    assert fill(output, 60_000) == [(first, 0, 100, False)]
    output.granted(WINDOW_START + 50)
    assert sum(end - start for _, start, end, _ in fill(output, 60_000)) == 50
    output.granted(WINDOW_START)
    assert not fill(output, 60_000)


def test_a_stream_ends_once() -> None:
    """An end that is under way is not sent again until it is lost."""
    output, only = StreamOutput(LIMITS), stream(1)
    output.write(only, b"hello")
    only.sending.finish()
    assert fill(output, 1000) == [(only, 0, 5, True)]
    assert not output.is_ready


def test_who_waits_for_room_is_told_once_half_is_free() -> None:
    output, only = StreamOutput(TunnelLimits(backlog_max=1000)), stream(1)
    assert output.write(only, bytes(1500)) == 1000
    assert output.backlog == float("inf")
    assert output.take_writable() == []
    fill(output, 617)
    assert output.take_writable() == [only]
    assert output.take_writable() == []
    assert output.backlog == 400


def test_what_is_given_up_waits_no_more() -> None:
    output, only = StreamOutput(LIMITS), stream(1)
    output.write(only, bytes(1000))
    output.give_up(only, 5)
    assert output.unsent == 0
    assert fill(output, 1000) == []
    assert not output.is_ready
