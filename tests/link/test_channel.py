"""Channels of both kinds, packet by packet."""

import pytest

from rookery.errors import CongestionError, DecodeError, ProtocolError
from rookery.link.channel import (
    ERROR_TEXT_MAX,
    OPENING_S_MAX,
    UNRELIABLE_QUEUE_BYTES,
    UNRELIABLE_QUEUE_MAX,
    ReliableChannel,
    UnreliableChannel,
)
from rookery.link.reliable import WINDOW_PACKETS, ChannelMessage
from rookery.wire.link.lob import JsonObject
from tests.link.recording_owner import RecordingOwner

OPEN: JsonObject = {"type": "stream"}


def dialled(owner: RecordingOwner) -> ReliableChannel:
    """A channel of ours whose opening has just left."""
    channel = ReliableChannel(owner, 1, ChannelMessage(OPEN, b""), outbound=True, now=0.0)
    channel.flush(0.0)
    return channel


def served(owner: RecordingOwner, head: JsonObject | None = None) -> ReliableChannel:
    """A channel that the peer has just opened."""
    opening = ChannelMessage({"type": "stream", "seq": 1, "c": 2, **(head or {})}, b"")
    return ReliableChannel(owner, 2, opening, outbound=False, now=0.0)


def run_timers(channel: ReliableChannel, until: float) -> float:
    now = 0.0
    while not channel.is_closed and (deadline := channel.deadline) is not None:
        if deadline > until:
            break
        now = deadline
        channel.expire(now)
        channel.flush(now)
    return now


# --- reliable ---


def test_the_opening_carries_type_and_first_number() -> None:
    """T3, T7."""
    owner = RecordingOwner()
    dialled(owner)
    assert owner.take() == [{"type": "stream", "c": 1, "seq": 1}]


def test_an_opening_is_acknowledged_with_the_window() -> None:
    owner = RecordingOwner()
    served(owner).flush(0.0)
    assert owner.take() == [{"c": 2, "ack": 1, "miss": [WINDOW_PACKETS]}]


def test_data_carries_the_acknowledgement() -> None:
    owner = RecordingOwner()
    channel = served(owner)
    channel.flush(0.0)
    owner.take()
    channel.received({"c": 2, "seq": 2}, b"x", 0.0)
    channel.send({"enc": "json"}, b"data")
    channel.flush(0.0)
    assert owner.take() == [{"enc": "json", "c": 2, "seq": 1, "ack": 2}]


def test_gaps_are_reported_together_with_data() -> None:
    owner = RecordingOwner()
    channel = served(owner)
    channel.received({"c": 2, "seq": 3}, b"x", 0.0)
    channel.send({}, b"data")
    channel.flush(0.0)
    data, ack = owner.take()
    assert data == {"c": 2, "seq": 1, "ack": 1}
    assert ack == {"c": 2, "ack": 1, "miss": [1, 2, WINDOW_PACKETS - 3]}


@pytest.mark.parametrize(("is_apart", "answers"), [(False, 0), (True, 1)])
def test_what_answers_another_path_does_not_ride_on_data_alone(
    is_apart: bool, answers: int
) -> None:
    """R9: the data may leave by a path that is dead."""
    owner = RecordingOwner()
    channel = served(owner)
    channel.flush(0.0)
    owner.take()
    owner.answers_apart = is_apart
    channel.received({"c": 2, "seq": 2}, b"x", 0.1)
    channel.send({}, b"y")
    channel.flush(0.1)
    heads = owner.take()
    assert heads[0] == {"c": 2, "seq": 1, "ack": 2}
    assert heads[1:] == [{"c": 2, "ack": 2}] * answers


def test_an_opening_is_repeated_with_its_type_until_something_comes_back() -> None:
    """T7: a second opening would replace the JavaScript peer's channel."""
    owner = RecordingOwner(is_lax=True)
    channel = dialled(owner)
    assert channel.deadline == 1.0
    channel.expire(1.0)
    channel.flush(1.0)
    channel.received({"c": 1, "seq": 1}, b"no ack yet", 1.5)
    channel.expire(9.0)
    channel.flush(9.0)
    first, again, third, *_ = owner.take()
    assert first == again == {"type": "stream", "c": 1, "seq": 1}
    assert third == {"c": 1, "seq": 1, "ack": 1}


def test_what_arrives_is_received_in_order_and_notified_once() -> None:
    owner = RecordingOwner()
    channel = served(owner)
    for seq in (3, 2, 4):
        channel.received({"c": 2, "seq": seq}, b"%d" % seq, 0.0)
    assert owner.changed == [channel]
    assert [message.body for message in iter(channel.receive, None)] == [b"2", b"3", b"4"]
    channel.received({"c": 2, "seq": 5}, b"5", 0.0)
    assert len(owner.changed) == 2


def test_a_bare_end_is_not_a_message() -> None:
    channel = served(RecordingOwner())
    channel.received({"c": 2, "seq": 2}, b"", 0.0)
    channel.received({"c": 2, "seq": 3, "end": True}, b"", 0.0)
    assert not channel.at_end
    assert channel.receive() is None
    assert channel.at_end


def test_both_ends_close_it() -> None:
    owner = RecordingOwner()
    channel = dialled(owner)
    channel.send({}, end=True)
    channel.flush(0.0)
    channel.received({"c": 1, "ack": 2, "seq": 1, "end": True}, b"", 0.1)
    assert channel.is_closed
    assert channel.failure is None
    assert owner.take()[-1]["ack"] == 1
    channel.send({}, b"ignored")
    channel.flush(0.2)
    channel.fail("ignored")
    assert owner.take() == []
    channel.repeat_acknowledgement()
    assert owner.take()[0]["ack"] == 1


def test_an_opening_may_already_be_the_end() -> None:
    """T7: as thtp requests are."""
    channel = served(RecordingOwner(), {"end": True})
    assert channel.at_end


def test_a_dialled_channel_may_end_with_its_opening() -> None:
    owner = RecordingOwner()
    opening = ChannelMessage({**OPEN, "end": True}, b"all of it")
    channel = ReliableChannel(owner, 1, opening, outbound=True, now=0.0)
    channel.flush(0.0)
    assert channel.end_sent
    assert owner.take() == [{"type": "stream", "c": 1, "seq": 1, "end": True}]


def test_an_error_closes_both_sides() -> None:
    owner = RecordingOwner()
    channel = dialled(owner)
    channel.fail("no " * 1000)
    assert channel.is_closed
    text = owner.take()[-1]["err"]
    assert isinstance(text, str)
    assert len(text) == ERROR_TEXT_MAX
    channel.repeat_acknowledgement()
    assert owner.take() == []


@pytest.mark.parametrize(("err", "failure"), [("sorry", "sorry"), (7, "error"), (True, "error")])
def test_the_peers_error_is_the_failure(err: object, failure: str) -> None:
    channel = dialled(RecordingOwner())
    channel.received({"c": 1, "err": err}, b"", 0.0)
    assert channel.failure == failure


def test_a_dead_link_closes_without_a_word() -> None:
    owner = RecordingOwner()
    channel = dialled(owner)
    owner.take()
    channel.abandon("link down")
    assert channel.failure == "link down"
    assert owner.take() == []


@pytest.mark.parametrize(
    "head",
    [
        {"ack": "1"},
        {"ack": -1},
        {"ack": True},
        {"ack": 1, "miss": {}},
        {"ack": 1, "miss": []},
        {"ack": 1, "miss": [1.5]},
        {"ack": 1, "miss": [-1]},
        {"ack": 1, "miss": [True]},
        {"ack": 1, "miss": [1 << 31]},
        {"ack": 1, "miss": [1] * 5000},
        {"seq": 0},
        {"seq": "2"},
        {"seq": False},
    ],
)
def test_malformed_numbers_are_refused(head: JsonObject) -> None:
    channel = dialled(RecordingOwner())
    with pytest.raises(DecodeError):
        channel.received({"c": 1, **head}, b"", 0.0)


def test_an_acknowledgement_of_the_future_is_refused() -> None:
    channel = dialled(RecordingOwner())
    with pytest.raises(ProtocolError):
        channel.received({"c": 1, "ack": 2}, b"", 0.0)


def test_room_to_write_is_notified() -> None:
    owner = RecordingOwner()
    channel = dialled(owner)
    while channel.has_room:
        channel.send({}, bytes(30_000))
    with pytest.raises(CongestionError):
        channel.send({}, b"one too many")
    channel.flush(0.0)
    assert owner.changed == []
    channel.received({"c": 1, "ack": 5}, b"", 0.1)
    assert owner.changed == [channel]
    assert channel.has_room
    assert not channel.is_flushed


def test_a_flushed_channel_is_notified() -> None:
    owner = RecordingOwner()
    channel = dialled(owner)
    channel.received({"c": 1, "ack": 1}, b"", 0.1)
    assert channel.is_flushed
    assert owner.changed == [channel]


def test_a_slow_readers_window_reopens_as_it_reads() -> None:
    """T3."""
    owner = RecordingOwner()
    channel = served(owner)
    for seq in range(2, WINDOW_PACKETS + 9):
        channel.received({"c": 2, "seq": seq}, b"x", 0.0)
        channel.flush(0.0)
    assert owner.take()[-1]["miss"] == [0]
    reads = 0
    while not owner.sent:
        assert channel.receive() is not None
        reads += 1
        channel.flush(0.0)
    assert reads <= WINDOW_PACKETS // 16
    assert owner.take() == [{"c": 2, "ack": WINDOW_PACKETS + 1, "miss": [reads]}]


def test_silence_puts_the_path_in_doubt_then_fails_the_channel() -> None:
    owner = RecordingOwner()
    channel = dialled(owner)
    end = run_timers(channel, 100.0)
    assert owner.stalled[0] < 2.0
    assert channel.failure == "timeout"
    assert 30.0 < end < 60.0


def test_an_idle_channel_never_times_out() -> None:
    channel = dialled(RecordingOwner())
    channel.received({"c": 1, "ack": 1}, b"", 0.1)
    assert channel.deadline is None


def test_a_lax_peer_may_leave_our_end_unconfirmed() -> None:
    """T7: it answers nothing after it has ended."""
    owner = RecordingOwner(is_lax=True)
    channel = dialled(owner)
    channel.received({"c": 1, "ack": 1}, b"", 0.1)
    channel.send({}, end=True)
    channel.flush(0.2)
    end = run_timers(channel, 100.0)
    assert channel.is_closed
    assert channel.failure is None
    assert end < 30.0


def test_a_lax_peer_that_has_ended_may_leave_our_last_data_unconfirmed() -> None:
    """T7."""
    channel = dialled(RecordingOwner(is_lax=True))
    channel.received({"c": 1, "ack": 1, "seq": 1, "end": True}, b"", 0.1)
    channel.send({}, b"last", end=True)
    channel.flush(0.2)
    run_timers(channel, 100.0)
    assert channel.is_closed
    assert channel.failure is None


def test_our_own_kind_confirms_its_end_or_has_silently_gone() -> None:
    channel = dialled(RecordingOwner())
    channel.received({"c": 1, "ack": 1}, b"", 0.1)
    channel.send({}, end=True)
    channel.flush(0.2)
    end = run_timers(channel, 100.0)
    assert channel.failure is None
    assert end > 30.0


# --- unreliable ---


def unreliable(owner: RecordingOwner, *, outbound: bool = True) -> UnreliableChannel:
    return UnreliableChannel(
        owner, 3, ChannelMessage({"type": "sock"}, b""), outbound=outbound, now=0.0
    )


def test_unreliable_packets_leave_at_once_and_without_numbers() -> None:
    """T3."""
    owner = RecordingOwner()
    channel = unreliable(owner)
    channel.send({"dst": 1}, b"x")
    assert owner.take() == [{"type": "sock", "c": 3}, {"dst": 1, "c": 3}]
    assert channel.has_room
    assert channel.is_flushed


def test_unreliable_packets_arrive_as_they_come_and_a_slow_reader_loses_the_oldest() -> None:
    owner = RecordingOwner()
    channel = unreliable(owner, outbound=False)
    for number in range(UNRELIABLE_QUEUE_MAX + 10):
        channel.received({"c": 3}, b"%d" % number, 0.0)
    assert owner.changed == [channel]
    message = channel.receive()
    assert message is not None
    assert message.body == b"10"


def test_unread_unreliable_packets_take_bounded_memory() -> None:
    channel = unreliable(RecordingOwner(), outbound=False)
    size = 50_000
    for _ in range(100):
        channel.received({"c": 3}, bytes(size), 0.0)
    kept = sum(1 for _ in iter(channel.receive, None))
    assert kept == UNRELIABLE_QUEUE_BYTES // size


def test_unreliable_channels_end_from_both_sides() -> None:
    channel = unreliable(RecordingOwner())
    channel.send({}, end=True)
    assert not channel.is_closed
    channel.received({"c": 3, "end": True}, b"bye", 0.0)
    assert channel.is_closed
    assert not channel.at_end
    assert channel.receive() is not None
    assert channel.at_end
    channel.send({}, b"ignored")
    channel.flush(0.0)
    channel.repeat_acknowledgement()


def test_an_unanswered_opening_times_out() -> None:
    channel = unreliable(RecordingOwner())
    assert channel.deadline == OPENING_S_MAX
    channel.expire(OPENING_S_MAX - 1)
    assert not channel.is_closed
    channel.expire(OPENING_S_MAX)
    assert channel.failure == "timeout"


def test_an_answered_opening_does_not_time_out() -> None:
    channel = unreliable(RecordingOwner())
    channel.received({"c": 3}, b"hello", 1.0)
    assert channel.deadline is None
    channel.expire(1000.0)
    assert not channel.is_closed
