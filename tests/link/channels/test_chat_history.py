"""T3: the order in which a chat is read."""

from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rookery.link.channels.chat_history import ChatHistory
from rookery.link.channels.chat_message import ChatText, Logged
from rookery.link.channels.message_id import format_id

ALICE, BOB, CAROL = "alice", "bob", "carol"


def id_(number: int) -> str:
    return format_id(number.to_bytes(8, "big"))


def order(history: ChatHistory) -> list[str]:
    return [entry.message.id for entry in history]


def test_a_message_stands_behind_the_one_it_follows_even_when_that_came_later() -> None:
    history = ChatHistory(10, 10_000)
    history.add(ALICE, ChatText(id_(1), "question"))
    history.add(CAROL, ChatText(id_(3), "agreed", after=id_(2)))
    history.add(BOB, ChatText(id_(2), "answer", after=id_(1)))
    assert order(history) == [id_(1), id_(2), id_(3)]
    assert history.newest == id_(3)


def test_nobodys_own_order_is_changed_by_what_others_claim() -> None:
    history = ChatHistory(10, 10_000)
    history.add(CAROL, ChatText(id_(9), "liar", after=id_(2)))
    history.add(BOB, ChatText(id_(1), "first"))
    history.add(BOB, ChatText(id_(2), "second"))
    assert order(history) == [id_(9), id_(1), id_(2)]


def test_a_correction_takes_the_place_of_the_message() -> None:
    history = ChatHistory(10, 10_000)
    history.add(ALICE, ChatText(id_(1), "helo"))
    history.add(BOB, ChatText(id_(2), "hi"))
    history.replace(ChatText(id_(1), "hello"))
    assert [m.text for m in history.of(ALICE) if isinstance(m, ChatText)] == ["hello"]
    assert order(history) == [id_(1), id_(2)]
    assert history.find(id_(3)) is None
    assert ChatHistory(1, 1).newest is None


class Reading(RuleBasedStateMachine):
    """Random authors, claims and corrections against the bounds and the two promises of order."""

    def __init__(self) -> None:
        super().__init__()
        self.history = ChatHistory(messages_max=8, bytes_max=900)
        self.count = 0
        self.sent: dict[str, list[str]] = {ALICE: [], BOB: [], CAROL: []}

    @rule(
        sender=st.sampled_from([ALICE, BOB, CAROL]),
        after=st.integers(1, 40),
        size=st.integers(0, 300),
    )
    def say(self, sender: str, after: int, size: int) -> None:
        self.count += 1
        self.history.add(sender, ChatText(id_(self.count), "x" * size, id_(after)))
        self.sent[sender].append(id_(self.count))

    @rule(number=st.integers(1, 40), size=st.integers(0, 300))
    def correct(self, number: int, size: int) -> None:
        self.history.replace(ChatText(id_(number), "y" * size))

    @invariant()
    def it_is_bounded(self) -> None:
        entries = list(self.history)
        assert len(entries) == len(self.history) <= 8
        assert sum(entry.size for entry in entries) <= 900
        assert all(entry.message.id in self.history for entry in entries)

    @invariant()
    def every_author_keeps_the_own_order(self) -> None:
        for sender, sent in self.sent.items():
            kept = [message.id for message in self.history.of(sender)]
            assert kept == [item for item in sent if item in kept]
            assert all(a != b for a, b in pairwise(kept))


TestReading = Reading.TestCase
TestReading.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


def test_adding_an_id_twice_is_our_own_mistake() -> None:
    history = ChatHistory(10, 10_000)
    message: Logged = ChatText(id_(1), "x")
    history.add(ALICE, message)
    with pytest.raises(AssertionError):
        history.add(ALICE, message)
