"""Sessions: what the other side may not do, and what becomes of it."""

import pytest

from rookery.errors import ChannelError, DecodeError, ProtocolError
from rookery.outbox.intake import RequestOutcome
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.state import RequestFailure, RequestState
from rookery.wire.outbox.frames import (
    AcknowledgementFrame,
    ErrorFrame,
    IntroductionFrame,
    OutboxErrorCode,
    Qos,
    ReplyFrame,
)
from rookery.wire.outbox.reader import Frame
from rookery.wire.outbox.request import RequestFrame
from tests.outbox.ends import BOB, Pair

INTRODUCTION = IntroductionFrame(b"\x08B\x10" + bytes(29), 1, 2, 0, 0, 9, 9)


def met(limits: OutboxLimits | None = None) -> Pair:
    pair = Pair(limits)
    pair.connect()
    pair.settle()
    return pair


def tell(pair: Pair, *frames: Frame) -> None:
    pair.alice.feed(b"".join(frame.serialize() for frame in frames), pair.now)


@pytest.mark.parametrize(
    "frame",
    [
        AcknowledgementFrame(1),
        IntroductionFrame(bytes(32), 1, 2, 0, 0, 9, 9),
        IntroductionFrame(bytes(32), 1, 2, 0, 0, 9, 9, version=2),
    ],
    ids=["no introduction", "another name", "another version"],
)
def test_a_session_begins_with_an_introduction_of_the_right_one(frame: Frame) -> None:
    pair = Pair()
    pair.connect()
    with pytest.raises(ProtocolError):
        tell(pair, frame)
    assert pair.alice.peer.session is None


def test_an_error_ends_the_session_with_its_text() -> None:
    pair = Pair()
    pair.connect()
    with pytest.raises(ChannelError, match="not you"):
        tell(pair, ErrorFrame(0, OutboxErrorCode.UNKNOWN_PEER, "not you"))


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (AcknowledgementFrame(9), ProtocolError),
        (ReplyFrame(9, b""), ProtocolError),
        (ErrorFrame(9, OutboxErrorCode.HANDLER_FAILED, ""), ProtocolError),
        (ErrorFrame(0, OutboxErrorCode.SUPERSEDED, ""), ChannelError),
    ],
    ids=["ack", "reply", "error", "end"],
)
def test_an_answer_without_a_request_is_refused(frame: Frame, kind: type[Exception]) -> None:
    pair = met()
    request = pair.alice.add(b"x")
    pair.alice.write(0.0)
    with pytest.raises(kind):
        tell(pair, frame)
    assert request.state is RequestState.QUEUED
    assert request.was_written


def test_a_second_introduction_is_one_too_many() -> None:
    pair = met()
    with pytest.raises(ProtocolError):
        tell(pair, pair.bob.peer.introduction)


def test_a_reply_takes_the_place_of_an_acknowledgement_and_not_the_other_way_round() -> None:
    pair = met()
    pair.alice.add(b"x", wants_reply=True)
    pair.alice.write(0.0)
    with pytest.raises(ProtocolError):
        tell(pair, AcknowledgementFrame(1))
    pair = met()
    pair.alice.add(b"x")
    pair.alice.write(0.0)
    with pytest.raises(ProtocolError):
        tell(pair, ReplyFrame(1, b""))
    assert [request.state for request in pair.alice.peer.requests()] == [RequestState.QUEUED]


def test_requests_come_in_order() -> None:
    pair = met()
    first = RequestFrame(2, Qos.ONCE, False, 1, b"")
    with pytest.raises(ProtocolError):
        tell(pair, first, RequestFrame(1, Qos.ONCE, False, 1, b""))


def test_garbage_ends_it() -> None:
    pair = met()
    with pytest.raises(DecodeError):
        pair.alice.feed(bytes(9), 0.0)
    assert pair.alice.peer.session is None


def test_after_the_end_there_are_no_more_bytes_in_or_out() -> None:
    pair = met()
    session = pair.alice.session
    assert session is not None
    pair.alice.add(b"x")
    session.close(0.0)
    session.close(0.0)
    assert session.take(0.0) == b""
    assert session.receive(RequestFrame(1, Qos.ONCE, False, 1, b"").serialize(), 0.0) == []
    assert (
        session.refuse(OutboxErrorCode.PROTOCOL, "why")
        == b"\x00\x00\x00\x0d\x05" + bytes(8) + b"\x02why"
    )


def test_no_last_words_in_the_middle_of_a_frame() -> None:
    pair = met()
    pair.alice.add(bytes(100))
    pair.alice.write(0.0, 50)
    assert pair.alice.session is not None
    assert pair.alice.session.refuse(OutboxErrorCode.PROTOCOL, "why") == b""


def test_the_other_sides_window_is_kept() -> None:
    """In count and in bytes; but one request is always let through, however large."""
    pair = met(OutboxLimits(window_requests=3, window_bytes=100))
    requests = [pair.alice.add(bytes(10)) for _ in range(5)]
    pair.alice.write(0.0)
    assert [one.state for one in requests] == [RequestState.WRITTEN] * 3 + [
        RequestState.IN_SESSION
    ] * 2
    pair.settle()
    large = [pair.alice.add(bytes(90)) for _ in range(2)]
    pair.alice.write(0.0)
    assert [one.state for one in large] == [RequestState.WRITTEN, RequestState.IN_SESSION]
    pair.settle()
    huge = pair.alice.add(bytes(1000))
    assert [arrival.payload for arrival in pair.settle()] == [bytes(1000)]
    assert huge.state is RequestState.ACKNOWLEDGED


def test_an_error_there_is_a_failure_here() -> None:
    pair = met()
    before, failing = pair.alice.add(b"before"), pair.alice.add(b"failing")
    pair.alice.write(0.0)
    pair.pass_on(pair.alice)
    pair.bob.handle()
    pair.bob.handle(RequestOutcome(code=OutboxErrorCode.HANDLER_FAILED, text="no"))
    pair.settle()
    assert before.state is RequestState.ACKNOWLEDGED
    assert (failing.state, failing.failure) == (RequestState.FAILED, RequestFailure.REFUSED)
    assert "no" in str(failing.error)


def test_requests_of_an_earlier_session_are_not_answered() -> None:
    """At most once is not asked again: its error, made meanwhile, is nobody's any more."""
    pair = met()
    lost = pair.alice.add(b"lost", Qos.ONCE_AT_MOST)
    pair.alice.write(0.0)
    pair.pass_on(pair.alice)
    pair.lose()
    assert lost.failure is RequestFailure.FATE_UNKNOWN
    after = pair.alice.add(b"after", Qos.ONCE_AT_MOST)
    pair.connect()
    pair.bob.write(0.0)
    pair.pass_on(pair.bob)
    pair.alice.write(0.0)
    pair.pass_on(pair.alice)
    assert (
        pair.bob.handle(RequestOutcome(code=OutboxErrorCode.HANDLER_FAILED, text="no")).payload
        == b"lost"
    )
    assert [arrival.payload for arrival in pair.settle()] == [b"after"]
    assert after.state is RequestState.ACKNOWLEDGED
    assert pair.alice.peer.sessions == 2


def test_an_answer_that_was_late_for_its_session_is_given_in_the_next() -> None:
    """The handler outlives the session; the repeat is answered, not handled."""
    pair = met()
    asked = pair.alice.add(b"x", Qos.ONCE, wants_reply=True)
    pair.alice.write(0.0)
    pair.pass_on(pair.alice)
    pair.lose()
    pair.connect()
    pair.bob.write(0.0)
    pair.alice.write(0.0)
    pair.pass_on(pair.alice)
    pair.pass_on(pair.bob)
    pair.bob.handle()  # before alice has asked again
    assert pair.settle() == []
    assert asked.answer == b"re:x"
    assert pair.bob.peer.host != BOB
