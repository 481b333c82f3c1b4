"""Numbers of channels, and which packet belongs to whom."""

import pytest

from rookery.errors import CongestionError, ProtocolError
from rookery.link.multiplexer import CHANNELS_MAX, ID_MAX, Multiplexer
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import NetPath
from tests.link.recording_owner import RecordingOwner


def opening(channel_id: int, **head: object) -> JsonObject:
    return {"c": channel_id, "type": "stream", "seq": 1, **head}


def served() -> tuple[RecordingOwner, Multiplexer]:
    owner = RecordingOwner()
    return owner, Multiplexer(owner, is_odd=True)


def close(owner: RecordingOwner, channels: Multiplexer, channel_id: int) -> None:
    """Have the peer open a channel, and both sides end it."""
    channels.received(opening(channel_id, end=True), b"", 0.0)
    owner.opened[-1].send({}, end=True)
    channels.touch(owner.opened[-1])
    channels.flush(0.0)
    channels.received({"c": channel_id, "ack": 1}, b"", 0.0)


def test_each_side_counts_in_its_own_parity() -> None:
    """T7."""
    owner = RecordingOwner()
    for is_odd, numbers in ((True, [1, 3, 5]), (False, [2, 4, 6])):
        channels = Multiplexer(owner, is_odd=is_odd)
        opened = [
            channels.open("stream", {}, b"", reliable=reliable, now=0.0).id
            for reliable in (True, False)
        ]
        assert [*opened, channels.take_id()] == numbers


def test_an_opening_is_offered_and_acknowledged() -> None:
    """T3."""
    owner, channels = served()
    channels.received(opening(2), b"hi", 0.0)
    channels.flush(0.0)
    assert owner.opened[0].opening.body == b"hi"
    assert owner.opened[0].reliable
    assert owner.take()[0]["ack"] == 1
    assert len(channels) == 1


@pytest.mark.parametrize("seq", [None, 0, 2, "1", True])
def test_only_the_number_one_opens_a_reliable_channel(seq: object) -> None:
    owner, channels = served()
    channels.received({"c": 2, "type": "stream", "seq": seq}, b"", 0.0)
    assert not owner.opened[0].reliable


def test_every_channel_sends_again_what_a_failed_path_took() -> None:
    """R9: with the next flush, over the path that is the best by then."""
    owner, channels = served()
    owner.path, other = NetPath("tcp4", "10.0.0.1", 1), NetPath("udp4", "10.0.0.1", 1)
    failed = owner.path
    for reliable in (True, True, False):
        channels.open("stream", {}, b"", reliable=reliable, now=0.0)
    channels.flush(0.0)
    owner.path = other
    third = channels.open("stream", {}, b"", reliable=True, now=0.0)
    channels.flush(0.0)
    owner.take()
    channels.path_failed(failed)
    channels.flush(0.001)
    assert sorted(str(head["c"]) for head in owner.take()) == ["1", "3"]
    channels.path_failed(other)
    channels.flush(0.002)
    assert sorted(str(head["c"]) for head in owner.take()) == ["1", "3", str(third.id)]


def test_an_unknown_type_is_answered_with_an_error() -> None:
    """T7."""
    owner, channels = served()
    channels.received({"c": 2, "type": "nonsense", "seq": 1}, b"", 0.0)
    assert owner.take() == [{"c": 2, "err": "unknown type"}]


def test_a_refusal_that_was_lost_is_given_again() -> None:
    """T7: whoever repeats the opening has not heard why it came to nothing."""
    owner, channels = served()
    for _ in range(2):
        channels.received({"c": 2, "type": "nonsense", "seq": 1}, b"", 0.0)
    channels.received({"c": 2, "seq": 2}, b"data", 0.0)
    assert owner.take() == [{"c": 2, "err": "unknown type"}] * 3


def test_an_opening_that_is_an_error_is_nobodys() -> None:
    owner, channels = served()
    channels.received(opening(2, err="no"), b"", 0.0)
    assert owner.opened == []
    assert owner.take() == []


@pytest.mark.parametrize("kind", ["path", "peer", "connect"])
def test_single_packets_go_to_the_link(kind: str) -> None:
    """T3."""
    owner, channels = served()
    channels.received({"c": 2, "type": kind}, b"", 0.0)
    assert [number for number, _ in owner.controls] == [2]
    assert len(channels) == 0


@pytest.mark.parametrize("number", [None, 0, -2, ID_MAX + 1, "2", True, 2.0])
def test_a_packet_needs_a_channel_number(number: object) -> None:
    _, channels = served()
    with pytest.raises(ProtocolError):
        channels.received({"c": number, "type": "stream"}, b"", 0.0)


@pytest.mark.parametrize("kind", [7, None, "x" * 65])
def test_a_type_is_a_short_string(kind: object) -> None:
    _, channels = served()
    with pytest.raises(ProtocolError):
        channels.received({"c": 2, "type": kind}, b"", 0.0)


def test_the_peer_may_not_use_our_numbers() -> None:
    _, channels = served()
    with pytest.raises(ProtocolError):
        channels.received({"c": 3, "type": "stream"}, b"", 0.0)


def test_openings_may_overtake_each_other_a_little() -> None:
    owner, channels = served()
    for number in (4, 2, 300, 202):
        channels.received({"c": number, "type": "path"}, b"", 0.0)
    assert [number for number, _ in owner.controls] == [4, 2, 300, 202]
    for number in (202, 300, 6, 172):
        with pytest.raises(ProtocolError):
            channels.received({"c": number, "type": "path"}, b"", 0.0)


def test_an_opening_that_comes_twice_opens_one_channel() -> None:
    owner, channels = served()
    channels.received(opening(2), b"", 0.0)
    channels.flush(0.0)
    channels.received(opening(2), b"", 0.0)
    channels.flush(0.0)
    assert len(owner.opened) == 1
    assert [head["ack"] for head in owner.take()] == [1, 1]


def test_a_closed_channel_still_acknowledges_repetitions() -> None:
    owner, channels = served()
    close(owner, channels, 2)
    assert len(channels) == 0
    owner.take()
    channels.received(opening(2, end=True), b"", 1.0)
    assert [head["ack"] for head in owner.take()] == [1]
    channels.received({"c": 2, "ack": 1}, b"", 1.0)
    assert owner.take() == []


def test_the_end_of_a_channel_is_repeated_for_late_packets() -> None:
    owner, channels = served()
    channels.received(opening(2), b"", 0.0)
    owner.opened[0].fail("no more")
    channels.touch(owner.opened[0])
    channels.flush(0.0)
    mine = channels.open("stream", {}, b"", reliable=True, now=0.0)
    channels.received({"c": mine.id, "err": "go away"}, b"", 0.0)
    owner.take()
    channels.received({"c": 2, "seq": 2}, b"more", 1.0)
    channels.received(opening(2), b"", 1.0)
    channels.received({"c": mine.id, "seq": 1}, b"more", 1.0)
    assert [head.get("err") for head in owner.take()] == ["closed"] * 3


def test_an_error_for_a_closed_channel_is_not_answered() -> None:
    owner, channels = served()
    mine = channels.open("stream", {}, b"", reliable=True, now=0.0)
    channels.received({"c": mine.id, "err": "go away"}, b"", 0.0)
    owner.take()
    channels.received({"c": mine.id, "seq": 1, "err": "closed"}, b"", 1.0)
    assert owner.take() == []


def test_data_that_overtook_its_opening_is_not_answered() -> None:
    owner, channels = served()
    channels.received({"c": 2, "seq": 2}, b"early", 0.0)
    assert owner.take() == []
    channels.received(opening(2), b"", 0.0)
    assert len(owner.opened) == 1


def test_lingering_channels_are_few_and_go_in_time() -> None:
    owner, channels = served()
    for number in range(2, 2002, 2):
        close(owner, channels, number)
    owner.take()
    channels.received(opening(2000), b"", 1.0)
    assert "ack" in owner.take()[0]
    channels.expire(100.0)
    channels.received(opening(2000), b"", 100.0)
    assert owner.take() == [{"c": 2000, "err": "closed"}]


def test_the_number_of_channels_is_bounded() -> None:
    """T2."""
    owner, channels = served()
    for number in range(2, 2 * CHANNELS_MAX + 2, 2):
        channels.received(opening(number), b"", 0.0)
    owner.take()
    channels.received(opening(2 * CHANNELS_MAX + 2), b"", 0.0)
    assert [head.get("err") for head in owner.take()] == ["too many channels"]
    with pytest.raises(CongestionError):
        channels.open("stream", {}, b"", reliable=True, now=0.0)


def test_an_answer_without_a_channel_goes_to_the_link() -> None:
    """T3: answers to `path` look like this."""
    owner, channels = served()
    channels.received({"c": 1, "path": {}}, b"", 0.0)
    assert len(owner.answers) == 1


def test_the_earliest_deadline_of_all_channels_counts() -> None:
    owner, channels = served()
    assert channels.deadline is None
    channels.open("sock", {}, b"", reliable=False, now=0.0)
    channels.flush(0.0)
    assert channels.deadline == 30.0
    channels.open("stream", {}, b"", reliable=True, now=0.0)
    channels.flush(0.0)
    assert channels.deadline is not None
    assert channels.deadline < 1.0
    owner.take()
    channels.expire(channels.deadline)
    assert len(owner.take()) == 1
    channels.received({"c": 3, "ack": 1}, b"", 1.0)
    channels.flush(1.0)
    channels.expire(5.0)
    assert channels.deadline == 30.0
    channels.expire(30.0)
    assert channels.deadline is None
    assert len(channels) == 1


def test_all_channels_end_with_the_session() -> None:
    owner, channels = served()
    mine = channels.open("stream", {}, b"", reliable=True, now=0.0)
    channels.received(opening(2), b"", 0.0)
    channels.abandon("the peer restarted")
    channels.flush(0.0)
    assert mine.failure == owner.opened[0].failure == "the peer restarted"
    assert owner.take() == []
    assert channels.deadline is None
    channels.touch(mine)
    channels.flush(0.0)


def test_the_peer_is_notified_when_we_end_all_channels() -> None:
    owner, channels = served()
    channels.open("stream", {}, b"", reliable=True, now=0.0)
    channels.open("sock", {}, b"", reliable=False, now=0.0)
    owner.take()
    channels.fail("link closed")
    assert [head["err"] for head in owner.take()] == ["link closed"] * 2


def test_unread_data_is_bounded_over_all_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """T2: many channels with full windows must not hold gigabytes."""
    monkeypatch.setattr("rookery.link.multiplexer.HELD_BYTES_MAX", 10_000)
    owner = RecordingOwner()
    channels = Multiplexer(owner, is_odd=True)
    for number in range(2, 22, 2):
        channels.received({"c": number, "type": "stream", "seq": 1}, b"", 0.0)
    refused = 0
    for seq in range(2, 40):
        for number in range(2, 22, 2):
            try:
                channels.received({"c": number, "seq": seq}, bytes(1000), 0.0)
            except ProtocolError:
                refused += 1
            channels.flush(0.0)
    held = sum(channel.held for channel in owner.opened)
    assert refused > 300
    assert held <= 10_000 + 10 * 1256  # one packet each is always allowed
    for channel in owner.opened:
        while channel.receive() is not None:
            channels.touch(channel)
    channels.flush(0.0)
    acks = {channel.id: 0 for channel in owner.opened}
    for message in owner.sent:
        ack = message.head.get("ack")
        if isinstance(ack, int):
            acks[int(str(message.head["c"]))] = ack
    for number, ack in acks.items():
        channels.received({"c": number, "seq": ack + 1}, bytes(1000), 0.0)
    assert all(channel.held for channel in owner.opened)
