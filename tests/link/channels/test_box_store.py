"""T3: what is kept for those who are offline is bounded in every direction."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rookery.errors import UsageError
from rookery.link.channels.box import box_id, message_id
from rookery.link.channels.box_store import BoxLimits, BoxStore
from rookery.wire import base32

ALICE, BOB, CAROL = (base32.encode(name * 8) for name in (b"alic", b"bobb", b"caro"))
BOXES = {(s, r): box_id(s, r) for s in (ALICE, BOB, CAROL) for r in (ALICE, BOB, CAROL)}
NOW = 1000.0


def test_messages_wait_in_order_in_the_box_of_their_sender() -> None:
    store = BoxStore()
    for message in (b"one", b"two"):
        assert store.put(ALICE, BOB, message, None, NOW)
    store.put(CAROL, BOB, b"three", None, NOW)
    assert store.boxes(BOB, NOW) == [box_id(ALICE, BOB), box_id(CAROL, BOB)]
    assert store.messages(BOB, box_id(ALICE, BOB), NOW) == [b"one", b"two"]


def test_a_box_is_visible_to_its_recipient_only() -> None:
    store = BoxStore()
    store.put(ALICE, BOB, b"secret", None, NOW)
    box = box_id(ALICE, BOB)
    assert store.boxes(CAROL, NOW) == []
    assert store.messages(CAROL, box, NOW) == []
    assert not store.forget(CAROL, box, message_id(box, b"secret"), NOW)
    store.clear(CAROL, box)
    assert store.messages(BOB, box, NOW) == [b"secret"]


def test_the_same_message_twice_is_kept_once_and_longer() -> None:
    store = BoxStore()
    store.put(ALICE, BOB, b"x", 10, NOW)
    store.put(ALICE, BOB, b"x", 10, NOW + 5)
    assert store.total.messages == 1
    assert store.messages(BOB, box_id(ALICE, BOB), NOW + 14) == [b"x"]
    assert store.messages(BOB, box_id(ALICE, BOB), NOW + 15) == []


def test_a_message_is_gone_when_its_time_is_up() -> None:
    store = BoxStore(BoxLimits(lifetime_s_max=100))
    assert store.deadline is None
    store.put(ALICE, BOB, b"short", 10, NOW)
    store.put(ALICE, BOB, b"default", None, NOW)
    store.put(ALICE, BOB, b"greedy", 1 << 50, NOW)
    assert store.deadline == NOW + 10
    store.expire(NOW + 10)
    assert store.messages(BOB, box_id(ALICE, BOB), NOW + 99.9) == [b"default", b"greedy"]
    assert store.boxes(BOB, NOW + 100) == []
    assert store.deadline is None


def test_one_message_or_all_can_be_forgotten() -> None:
    store = BoxStore()
    box = box_id(ALICE, BOB)
    for message in (b"one", b"two", b"three"):
        store.put(ALICE, BOB, message, None, NOW)
    assert store.forget(BOB, box, message_id(box, b"two"), NOW)
    assert not store.forget(BOB, box, message_id(box, b"two"), NOW)
    assert store.messages(BOB, box, NOW) == [b"one", b"three"]
    store.clear(BOB, box)
    assert store.boxes(BOB, NOW) == []
    assert store.total.messages == store.total.size == 0


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"message_size_max": 9}, 0),
        ({"recipient_messages_max": 2}, 2),
        ({"recipient_bytes_max": 25}, 2),
        ({"sender_messages_max": 1}, 2),  # one of each sender
        ({"sender_bytes_max": 19}, 2),
        ({"messages_max": 3}, 3),
        ({"bytes_max": 39}, 3),
    ],
)
def test_what_exceeds_a_bound_is_dropped(limits: dict[str, int], kept: int) -> None:
    store = BoxStore(BoxLimits(**limits))
    for number in range(4):
        for sender in (ALICE, CAROL):
            store.put(sender, BOB, b"%010d" % number, None, NOW)
    assert store.total.messages == kept
    assert not store.put(ALICE, BOB, b"", None, NOW)


def test_room_is_what_is_left_for_the_recipient() -> None:
    store = BoxStore(BoxLimits(recipient_bytes_max=100, bytes_max=150))
    store.put(ALICE, BOB, bytes(90), None, NOW)
    assert store.room(BOB) == 10
    assert store.room(CAROL) == 60


def test_a_limit_of_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError):
        BoxLimits(messages_max=0)


class Keeper(RuleBasedStateMachine):
    """Random traffic against a plain list of what should still be there."""

    limits = BoxLimits(
        message_size_max=40,
        recipient_messages_max=4,
        recipient_bytes_max=90,
        sender_messages_max=5,
        sender_bytes_max=100,
        messages_max=8,
        bytes_max=150,
        lifetime_s_max=50,
    )
    people = st.sampled_from([ALICE, BOB, CAROL])
    contents = st.binary(min_size=1, max_size=2).map(lambda seed: seed * 21)

    def __init__(self) -> None:
        super().__init__()
        self.store = BoxStore(self.limits)
        self.now = NOW
        self.model: dict[tuple[str, str, bytes], float] = {}

    @rule(
        sender=people, recipient=people, content=contents, lifetime_s=st.none() | st.integers(1, 80)
    )
    def put(self, sender: str, recipient: str, content: bytes, lifetime_s: int | None) -> None:
        if self.store.put(sender, recipient, content, lifetime_s, self.now):
            lives_s = min(lifetime_s or 50, 50)
            self.model[sender, recipient, content] = self.now + lives_s
        else:
            # Dropped: then it is not kept, and some bound would have been broken.
            assert (sender, recipient, content) not in self.model

    @rule(seconds=st.integers(0, 30))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        self.store.expire(self.now)
        self.model = {key: at for key, at in self.model.items() if at > self.now}

    @rule(sender=people, recipient=people, content=contents)
    def forget(self, sender: str, recipient: str, content: bytes) -> None:
        box = box_id(sender, recipient)
        there = self.store.forget(recipient, box, message_id(box, content), self.now)
        assert there == (self.model.pop((sender, recipient, content), None) is not None)

    @rule(sender=people, recipient=people)
    def clear(self, sender: str, recipient: str) -> None:
        self.store.clear(recipient, box_id(sender, recipient))
        self.model = {key: at for key, at in self.model.items() if key[:2] != (sender, recipient)}

    @rule(count=st.integers(30, 80))
    def put_and_forget_often(self, count: int) -> None:
        """Leaves stale expiries behind, which must not pile up."""
        box = box_id(CAROL, CAROL)
        for _ in range(count):
            if self.store.put(CAROL, CAROL, b"again", None, self.now):
                self.store.forget(CAROL, box, message_id(box, b"again"), self.now)

    @invariant()
    def what_is_kept_is_what_was_put(self) -> None:
        kept = {
            (sender, recipient, content)
            for (sender, recipient), box in BOXES.items()
            for content in self.store.messages(recipient, box, self.now)
        }
        assert kept == self.model.keys()

    @invariant()
    def every_bound_holds(self) -> None:
        assert len(self.model) == self.store.total.messages <= 8
        assert sum(len(key[2]) for key in self.model) == self.store.total.size <= 150
        for person in (ALICE, BOB, CAROL):
            received = [key[2] for key in self.model if key[1] == person]
            sent = [key[2] for key in self.model if key[0] == person]
            assert len(received) <= 4
            assert sum(map(len, received)) <= 90
            assert len(sent) <= 5
            assert sum(map(len, sent)) <= 100


TestKeeper = Keeper.TestCase
TestKeeper.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
