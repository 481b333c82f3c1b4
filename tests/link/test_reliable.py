"""Order and certainty, whatever the path does."""

import heapq
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rookery.errors import ProtocolError
from rookery.link.congestion import PACKETS_START
from rookery.link.reliable import (
    GAPS_LISTED_MAX,
    UNACKNOWLEDGED_S_MAX,
    WINDOW_BYTES,
    WINDOW_DEFAULT,
    WINDOW_PACKETS,
    ChannelMessage,
    NumberedMessage,
    ReliableReceiver,
    ReliableSender,
)
from rookery.wire.link.path import NetPath

NEAR, FAR = NetPath("tcp4", "10.0.0.1", 1), NetPath("tcp4", "10.0.0.2", 1)


def message(number: int, size: int = 0) -> ChannelMessage:
    return ChannelMessage({"number": number}, bytes(size))


def filled(*numbers: int, is_lax: bool = False) -> ReliableReceiver:
    receiver = ReliableReceiver(is_lax=is_lax)
    for number in numbers:
        receiver.accept(number, message(number))
    return receiver


def sent(count: int, *, now: float = 0.0, is_lax: bool = False) -> ReliableSender:
    """A sender that has just put so many packets on the wire."""
    sender = ReliableSender(is_lax=is_lax, rtt=None if is_lax else 0.1)
    for number in range(1, count + 1):
        sender.push(message(number))
    assert seqs(sender, now) == list(range(1, count + 1))
    return sender


def seqs(sender: ReliableSender, now: float) -> list[int]:
    return [numbered.seq for numbered in sender.due(now)]


# --- the receiver ---


def test_packets_come_out_in_order_and_once() -> None:
    receiver = filled(2, 1, 1, 3, 2)
    assert [receiver.take() for _ in range(4)] == [message(1), message(2), message(3), None]
    assert receiver.ack == 3


def test_the_miss_list_of_the_specification() -> None:
    """T7: complete, towards a peer of another kind without the first unseen number."""
    receiver = filled(1, 2, 3, 6, 8, is_lax=True)
    room = WINDOW_PACKETS - 3  # because three wait to be read
    assert receiver.miss() == [1, 1, 2, room - 4]


def test_our_own_kind_also_gets_the_first_unseen_number() -> None:
    assert filled(1, 2, 3, 6, 8).miss()[:-1] == [1, 1, 2, 2]


def test_a_miss_list_fits_a_datagram() -> None:
    receiver = filled(*range(2, 2000, 2))
    assert len(receiver.miss()) == GAPS_LISTED_MAX + 1
    assert sum(receiver.miss()) == receiver.miss()[-1] + 2 * GAPS_LISTED_MAX - 1


def test_the_window_is_news_once() -> None:
    receiver = filled(1)
    assert receiver.has_news
    receiver.miss()
    assert not receiver.has_news


def test_nothing_is_taken_beyond_the_window() -> None:
    receiver = ReliableReceiver(is_lax=False)
    assert not receiver.accept(WINDOW_PACKETS + 1, message(1))
    assert receiver.has_news
    for number in range(1, WINDOW_PACKETS + 1):
        assert receiver.accept(number, message(number))
    assert not receiver.accept(WINDOW_PACKETS + 1, message(1))
    assert receiver.miss() == [0]


def test_a_reader_that_catches_up_reopens_the_window() -> None:
    receiver = filled(*range(1, WINDOW_PACKETS + 1))
    assert receiver.miss() == [0]
    taken = 0
    while not receiver.has_news:
        receiver.take()
        taken += 1
    assert taken <= WINDOW_PACKETS // 16
    assert receiver.miss() == [taken]


@pytest.mark.parametrize("size", [0, 1200, 32 << 10])
def test_the_buffer_is_bounded_in_bytes(size: int) -> None:
    receiver, held = ReliableReceiver(is_lax=False), 0
    for number in range(1, 4 * WINDOW_PACKETS):
        held += size * receiver.accept(number, message(number, size))
    assert len(receiver) <= WINDOW_PACKETS
    assert held <= 2 * WINDOW_BYTES


def test_what_closes_a_gap_finds_room_in_a_full_buffer() -> None:
    receiver = ReliableReceiver(is_lax=False)
    size = 32 << 10
    for number in range(2, 1000):
        receiver.accept(number, message(number, size))
    assert receiver.take() is None
    assert receiver.accept(1, message(1, size))
    assert receiver.ack > 100
    while receiver.take() is not None:
        pass
    assert receiver.accept(receiver.ack + 1, message(0, size))


def test_nothing_follows_the_end() -> None:
    receiver = ReliableReceiver(is_lax=False)
    receiver.accept(2, message(2))
    receiver.accept(1, ChannelMessage({"end": True}, b""))
    assert receiver.ended
    assert not receiver.accept(2, message(2))
    assert receiver.ack == 1


# --- the sender ---


def test_a_sender_starts_with_what_the_javascript_peer_can_hold() -> None:
    """T7."""
    sender = ReliableSender(is_lax=True)
    for number in range(200):
        sender.push(message(number))
    first = seqs(sender, 0.0)
    sender.acknowledged(first[-1], None, 0.1)
    assert seqs(sender, 0.1)[-1] <= first[-1] + WINDOW_DEFAULT


def test_only_what_was_sent_can_be_acknowledged() -> None:
    sender = sent(3)
    with pytest.raises(ProtocolError):
        sender.acknowledged(4, None, 0.1)
    sender.acknowledged(3, None, 0.1)
    assert sender.is_idle
    assert sender.buffered == 0


def test_an_overtaken_acknowledgement_changes_nothing() -> None:
    sender = sent(3)
    sender.acknowledged(2, None, 0.1)
    sender.acknowledged(1, [1, 0], 0.1)
    assert sender.deadline is not None
    assert seqs(sender, 0.1) == []


def test_a_listed_packet_is_repeated_once_it_cannot_be_late_any_more() -> None:
    sender = sent(5)
    sender.acknowledged(1, [1, 50], 0.1)
    assert seqs(sender, 0.1) == []
    sender.acknowledged(1, [1, 4, 50], 0.5)
    assert seqs(sender, 0.5) == [2]
    sender.acknowledged(1, [1, 4, 50], 0.51)
    assert seqs(sender, 0.51) == []


def test_a_gap_listed_twice_is_one_gap() -> None:
    sender = sent(5)
    sender.acknowledged(1, [1, 0, 0, 1, 50], 9.0)
    assert seqs(sender, 9.0) == [2, 3]
    sender.acknowledged(5, None, 9.1)
    assert sender.is_idle


def test_new_packets_flow_while_an_old_one_is_repeated() -> None:
    sender = sent(32)
    for number in range(33, 200):
        sender.push(message(number))
    assert seqs(sender, 0.05) == []
    sender.acknowledged(0, [1, 32, 2048], 0.1)
    assert seqs(sender, 0.1)[0] == 33


def test_a_lax_peers_repeated_answer_asks_for_the_first_gap() -> None:
    """T7: it never lists it."""
    sender = sent(5, is_lax=True)
    sender.acknowledged(1, None, 0.1)
    sender.acknowledged(1, [3, 47], 2.0)
    assert seqs(sender, 2.0) == [2, 4]


def test_a_lax_peers_list_does_not_say_what_arrived() -> None:
    """T7: it says nothing of numbers that a comparison by text hides."""
    sender = sent(5, is_lax=True)
    sender.acknowledged(1, [3, 47], 5.0)
    seqs(sender, 5.0)
    assert sender.expire(20.0)
    assert seqs(sender, 20.0) == [2, 3, 4, 5]


def test_a_closed_window_lets_one_packet_knock() -> None:
    sender = sent(2)
    sender.acknowledged(2, [0], 0.1)
    for number in (3, 4):
        sender.push(message(number))
    assert seqs(sender, 0.1) == [3]
    sender.acknowledged(2, [0], 0.2)
    assert seqs(sender, 0.2) == []
    sender.acknowledged(2, [2048], 0.3)
    assert seqs(sender, 0.3) == [3, 4]


def test_a_closed_window_does_not_time_out_while_the_peer_answers() -> None:
    sender = sent(2)
    sender.acknowledged(2, [0], 0.1)
    sender.push(message(3))
    now = 0.1
    knocks = len(seqs(sender, now))
    while now < 300:
        sender.acknowledged(2, [0], now)
        assert sender.deadline is not None
        now = sender.deadline
        assert sender.expire(now)
        knocks += len(seqs(sender, now))
    assert 50 < knocks < 200


def test_silence_repeats_everything_then_gives_up() -> None:
    sender = sent(3)
    now, repeated = 0.0, list[int]()
    while sender.deadline is not None and sender.expire(now := sender.deadline):
        repeated += seqs(sender, now)
    assert repeated[:3] == [1, 2, 3]
    assert UNACKNOWLEDGED_S_MAX <= now < UNACKNOWLEDGED_S_MAX + 6
    assert sender.is_peer_silent(now)


def test_what_took_a_path_that_failed_is_due_at_once() -> None:
    """R9: and nothing else is, nor does anybody slow down for it."""
    sender = ReliableSender(is_lax=False, rtt=0.1)
    for number in range(6):
        sender.push(message(number))
    for numbered in sender.due(0.0):
        numbered.path = NEAR if numbered.seq % 2 else FAR
    sender.acknowledged(1, None, 0.01)
    sender.path_failed(NEAR, 0.1)
    assert seqs(sender, 0.01) == [3, 5]
    assert seqs(sender, 0.01) == []
    assert sender.deadline == 0.0 + sender.round_trip.timeout  # of what took the other path


def test_the_silence_of_a_failed_path_is_forgotten_with_it() -> None:
    """R9: the next path starts with its own patience, not with what the dead one had run up."""
    sender = sent(1)
    patience_s = sender.round_trip.timeout
    now = 0.0
    for _ in range(3):
        now = sender.deadline or now
        assert sender.expire(now)
        for numbered in sender.due(now):
            numbered.path = NEAR
    assert sender.round_trip.timeout > patience_s
    sender.path_failed(NEAR, 0.1)
    assert seqs(sender, now) == [1]
    assert sender.round_trip.timeout == patience_s


def test_a_path_that_took_nothing_of_ours_changes_nothing() -> None:
    sender = sent(3)
    before = sender.round_trip
    sender.path_failed(FAR, 0.7)
    assert seqs(sender, 0.0) == []
    assert sender.round_trip is before


def test_the_next_path_is_felt_out_like_any_new_one() -> None:
    """R10: a thousand packets for a quick path would drown a slow one."""
    sender = ReliableSender(is_lax=False, rtt=0.01)
    for number in range(1000):
        sender.push(message(number))
    flights = []
    for now in (0.0, 0.01, 0.02, 0.03):
        taken = list(sender.due(now))
        for numbered in taken:
            numbered.path = NEAR
        flights.append(len(taken))
        sender.acknowledged(taken[-2].seq, [2048], now + 0.01)
    assert flights[-1] > 4 * PACKETS_START
    under_way = list(sender.due(0.04))
    for numbered in under_way:
        numbered.path = NEAR
    sender.path_failed(NEAR, 0.5)
    again = seqs(sender, 0.05)
    assert len(again) == PACKETS_START
    assert set(again) <= {taken[-1].seq, *(numbered.seq for numbered in under_way)}
    assert sender.round_trip.timeout > 0.5


def test_a_lax_peer_with_a_slow_reader_is_knocked_at_and_not_given_up() -> None:
    """T7: it stops answering; its link tells whether it lives."""
    sender = sent(3, is_lax=True)
    sender.acknowledged(1, None, 0.1)
    now, repeated = 0.1, list[int]()
    while now < 300:
        assert sender.deadline is not None
        now = sender.deadline
        assert sender.expire(now)
        repeated += seqs(sender, now)
    assert max(repeated) == 4  # an empty packet, because it answers only news


def test_a_lax_peer_that_never_answered_is_given_up() -> None:
    sender = sent(1, is_lax=True)
    now = 0.0
    while sender.deadline is not None and sender.expire(now := sender.deadline):
        seqs(sender, now)
    assert now >= UNACKNOWLEDGED_S_MAX


def test_only_a_bare_end_may_stay_unconfirmed() -> None:
    sender = sent(1)
    assert not sender.only_end_is_open
    sender.push(ChannelMessage({"end": True}, b""))
    assert not sender.only_end_is_open
    seqs(sender, 0.0)
    sender.acknowledged(1, None, 0.1)
    assert sender.only_end_is_open


def test_no_probe_follows_an_end() -> None:
    sender = ReliableSender(is_lax=True)
    sender.push(ChannelMessage({"end": True}, b""))
    now, repeated = 0.0, seqs(sender, 0.0)
    for _ in range(5):
        assert sender.deadline is not None
        now = sender.deadline
        sender.expire(now)
        repeated += seqs(sender, now)
    assert set(repeated) == {1}


def test_the_application_is_notified_when_there_is_no_room() -> None:
    sender = ReliableSender(is_lax=False)
    while sender.has_room:
        sender.push(message(0, 4096))
    assert sender.buffered < 1 << 21


# --- both, over a bad path ---


class Wire:
    """Loses, repeats and reorders by a seeded generator, in virtual time."""

    def __init__(self, seed: int, loss: float) -> None:
        self.random = Random(seed)
        self.loss = loss
        self.queue: list[tuple[float, int, object]] = []
        self.count = 0

    def put(self, packet: object, now: float) -> None:
        for _ in range(1 + (self.random.random() < 0.1)):
            if self.random.random() >= self.loss:
                self.count += 1
                arrival = now + 0.02 + self.random.random() * 0.05
                heapq.heappush(self.queue, (arrival, self.count, packet))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1 << 32),
    loss=st.floats(0.0, 0.6),
    count=st.integers(1, 300),
    is_lax=st.booleans(),
)
def test_everything_arrives_once_and_in_order(
    seed: int, loss: float, count: int, is_lax: bool
) -> None:
    """Virtual time, seeded path: any failure replays from its seed."""
    there, back = Wire(seed, loss), Wire(seed + 1, loss)
    sender, receiver = ReliableSender(is_lax=is_lax), ReliableReceiver(is_lax=is_lax)
    for number in range(count):
        sender.push(message(number))
    now, taken = 0.0, list[object]()
    for _ in range(100_000):
        for numbered in sender.due(now):
            there.put((numbered.seq, numbered.message), now)
        if sender.is_idle:
            break
        assert sender.deadline is not None
        times = [queue[0][0] for queue in (there.queue, back.queue) if queue]
        now = max(now, min([*times, sender.deadline]))
        while there.queue and there.queue[0][0] <= now:
            packet = heapq.heappop(there.queue)[2]
            assert isinstance(packet, tuple)
            receiver.accept(*packet)
            while (got := receiver.take()) is not None:
                taken.append(got.head.get("number"))
            back.put((receiver.ack, receiver.miss() if receiver.has_news else None), now)
        while back.queue and back.queue[0][0] <= now:
            answer = heapq.heappop(back.queue)[2]
            assert isinstance(answer, tuple)
            ack, miss = answer
            sender.acknowledged(ack, miss, now)
        if not sender.expire(now):
            break
    numbers = [number for number in taken if number is not None]  # a probe has none
    assert numbers == list(range(len(numbers)))
    assert len(numbers) == count or now - UNACKNOWLEDGED_S_MAX >= 0
    assert sender.is_idle or now >= UNACKNOWLEDGED_S_MAX


class Conversation(RuleBasedStateMachine):
    """A sender and a receiver, and a path that does what Hypothesis likes least."""

    def __init__(self) -> None:
        super().__init__()
        self.sender, self.receiver = (
            ReliableSender(is_lax=False, rtt=0.1),
            ReliableReceiver(is_lax=False),
        )
        self.there: list[NumberedMessage] = []
        self.back: list[tuple[int, list[int] | None]] = []
        self.now, self.pushed, self.taken = 0.0, 0, 0

    @rule(count=st.integers(1, 40), size=st.sampled_from([0, 1200, 40_000]))
    def push(self, count: int, size: int) -> None:
        for _ in range(count):
            if self.sender.has_room:
                self.sender.push(message(self.pushed, size))
                self.pushed += 1

    @rule()
    def send(self) -> None:
        self.there += self.sender.due(self.now)

    @precondition(lambda self: self.there)
    @rule(data=st.data(), keep=st.booleans())
    def deliver(self, data: st.DataObject, keep: bool) -> None:
        at = data.draw(st.integers(0, len(self.there) - 1))
        numbered = self.there[at] if keep else self.there.pop(at)
        self.receiver.accept(numbered.seq, numbered.message)

    @precondition(lambda self: self.there)
    @rule()
    def lose(self) -> None:
        self.there.pop()

    @rule(count=st.integers(1, 50))
    def read(self, count: int) -> None:
        while count and (got := self.receiver.take()) is not None:
            assert got.head["number"] == self.taken
            self.taken += 1
            count -= 1

    @rule()
    def answer(self) -> None:
        miss = self.receiver.miss() if self.receiver.has_news else None
        self.back.append((self.receiver.ack, miss))

    @precondition(lambda self: self.back)
    @rule(data=st.data())
    def hear(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.back) - 1))
        self.sender.acknowledged(*self.back.pop(at), self.now)

    @rule(seconds=st.floats(0.01, 3.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.sender.expire(self.now)

    @precondition(lambda self: self.sender.deadline is not None)
    @rule()
    def time_out(self) -> None:
        assert self.sender.deadline is not None
        self.now = max(self.now, self.sender.deadline)
        if self.sender.expire(self.now):
            self.send()
            assert self.sender.deadline > self.now  # or a timer would spin

    @invariant()
    def nothing_is_invented(self) -> None:
        assert self.taken <= self.receiver.ack <= self.pushed

    def teardown(self) -> None:
        """Once the path is good again, all of it arrives."""
        for _ in range(2000):
            for numbered in self.sender.due(self.now):
                self.receiver.accept(numbered.seq, numbered.message)
            self.read(1 << 20)
            self.sender.acknowledged(self.receiver.ack, self.receiver.miss(), self.now)
            if self.sender.is_idle:
                break
            self.now += 0.05
            self.sender.expire(self.now)
        assert self.taken == self.pushed
        assert self.sender.buffered == 0


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=60, stateful_step_count=60)
