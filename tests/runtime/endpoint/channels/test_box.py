"""T3: messages for those who are offline, from sender over keeper to recipient."""

import random
from collections.abc import AsyncIterator

import pytest

from rookery.errors import ChannelError, UsageError
from rookery.identity.identity import Identity
from rookery.link.channels.box import box_id, message_id
from rookery.link.channels.box_seal import seal, unseal
from rookery.link.channels.box_store import BoxLimits, BoxStore
from rookery.runtime.endpoint.channels.box import BoxClient
from rookery.runtime.endpoint.channels.box_keeper import BoxKeeper
from rookery.wire import base32
from tests.runtime.message_channel_pair import (
    ALICE,
    BOB,
    CAROL,
    WINDOW,
    BoardChannel,
    Switchboard,
    until,
)


class Post:
    """Carol keeps what Alice and Bob leave for each other."""

    def __init__(self, board: Switchboard) -> None:
        self.board = board
        self.now = 1000.0
        self.keeper = BoxKeeper(
            BoxStore(BoxLimits(recipient_messages_max=3)),
            allow=lambda sender, recipient: recipient != CAROL,
            clock=lambda: self.now,
        )
        self.alice = BoxClient(board.link(ALICE, CAROL), ALICE)
        self.bob = BoxClient(board.link(BOB, CAROL), BOB)
        board.serve(CAROL, "outbox", self.keeper.handle_outbox)
        board.serve(CAROL, "inbox", self.keeper.handle_inbox)
        board.serve(CAROL, "boxes", self.keeper.handle_boxes)


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    async with Switchboard() as board:
        yield Post(board)


BOX = box_id(ALICE, BOB)


async def test_a_message_waits_until_it_is_fetched_and_forgotten(post: Post) -> None:
    long = bytes(range(256)) * 20
    assert await post.alice.put(BOB, long) == message_id(BOX, long)
    await post.alice.put(BOB, b"short")
    assert await post.bob.waiting() == [BOX]
    async with post.bob.inbox(BOX) as inbox:
        messages = []
        async for message in inbox:
            messages.append(message)
            await inbox.forget(message)
    assert messages == [long, b"short"]
    assert await post.bob.waiting() == []


async def test_forgetting_while_more_messages_come_blocks_nobody() -> None:
    """Both directions exceed their windows at the same time."""
    async with Switchboard() as board:
        post = Post(board)
        post.keeper.store = BoxStore()
        for number in range(5 * WINDOW):
            post.keeper.store.put(ALICE, BOB, b"%d" % number, None, post.now)
        ids = [message_id(BOX, b"%d" % number) for number in range(5 * WINDOW)]
        await post.bob.forget(BOX, ids[:-1])
        assert await post.bob.get(BOX) == [b"%d" % (5 * WINDOW - 1)]


async def test_reading_does_not_remove(post: Post) -> None:
    await post.alice.put(BOB, b"one")
    await post.alice.put(BOB, b"two")
    assert await post.bob.get(BOX) == await post.bob.get(BOX) == [b"one", b"two"]
    await post.bob.forget(BOX, [message_id(BOX, b"one")])
    assert await post.bob.get(BOX) == [b"two"]
    await post.bob.forget(BOX)
    assert await post.bob.get(BOX) == []


async def test_a_sender_can_take_messages_back(post: Post) -> None:
    id_ = await post.alice.put(BOB, b"rash")
    await post.alice.put(BOB, b"calm")
    await post.alice.withdraw(BOB, [id_])
    assert await post.bob.get(BOX) == [b"calm"]
    await post.alice.withdraw(BOB)
    assert await post.bob.get(BOX) == []


async def test_nobody_reads_or_clears_the_box_of_another(post: Post) -> None:
    await post.alice.put(BOB, b"secret")
    assert await post.alice.waiting() == []
    assert await post.alice.get(BOX) == []
    await post.alice.forget(BOX)
    assert await post.bob.get(BOX) == [b"secret"]


async def test_a_message_lives_as_long_as_its_sender_says(post: Post) -> None:
    await post.alice.put(BOB, b"soon stale", lifetime_s=60)
    post.now += 60
    assert await post.bob.waiting() == []


async def test_no_room_looks_like_success(post: Post) -> None:
    for number in range(5):
        await post.alice.put(BOB, b"%d" % number)
    await post.alice.put(CAROL, b"the policy does not want this")
    assert await post.bob.get(BOX) == [b"0", b"1", b"2"]
    assert post.keeper.store.total.messages == 3


async def test_the_reader_learns_what_would_still_fit(post: Post) -> None:
    await post.alice.put(BOB, b"12345")
    async with post.bob.inbox(BOX) as inbox:
        assert [message async for message in inbox] == [b"12345"]
        await inbox.clear()
    assert inbox.capacity == post.keeper.store.limits.recipient_bytes_max - 5
    assert await post.bob.waiting() == []


async def test_a_peer_that_comes_online_is_told(post: Post) -> None:
    told: list[tuple[str, list[bytes]]] = []

    async def on_boxes(keeper: str, boxes: list[bytes]) -> None:
        told.append((keeper, boxes))

    bob = BoxKeeper()
    bob.on_boxes = on_boxes
    post.board.serve(BOB, "boxes", bob.handle_boxes)
    link = post.board.link(CAROL, BOB)
    assert not await post.keeper.announce(link, BOB)
    senders = [base32.encode(bytes([number]) * 32) for number in range(130)]
    store = BoxStore()
    for sender in senders:
        store.put(sender, BOB, b"hello", None, post.now)
    assert await BoxKeeper(store, clock=lambda: post.now).announce(link, BOB)
    await until(lambda: bool(told))
    assert told == [(CAROL, [box_id(sender, BOB) for sender in senders])]


async def test_an_announcement_without_a_handler_does_no_harm(post: Post) -> None:
    await post.alice.put(BOB, b"hello")
    post.board.serve(BOB, "boxes", BoxKeeper().handle_boxes)
    assert await post.keeper.announce(post.board.link(CAROL, BOB), BOB)
    await until(lambda: post.board.serving == 0)
    assert await post.bob.waiting() == [BOX]


@pytest.mark.parametrize(
    ("kind", "head"),
    [("outbox", {}), ("outbox", {"to": "me"}), ("inbox", {}), ("inbox", {"box": "zz"})],
)
async def test_malformed_openings_are_refused(
    post: Post, kind: str, head: dict[str, object]
) -> None:
    channel = post.board.link(ALICE, CAROL).open(kind, head)
    with pytest.raises(ChannelError):
        await channel.receive()


async def test_a_message_without_end_is_cut_off(post: Post) -> None:
    channel = post.board.link(ALICE, CAROL).open("outbox", {"to": BOB})
    with pytest.raises(ChannelError, match="exceeds"):
        await _pour(channel)
    assert post.keeper.store.total.messages == 0


async def _pour(channel: BoardChannel) -> None:
    for _ in range(100):
        await channel.send({}, bytes(1000))


async def test_too_long_a_message_is_the_senders_own_mistake(post: Post) -> None:
    with pytest.raises(UsageError):
        await post.alice.put(BOB, bytes(1 << 17))


async def test_a_letter_proves_its_sender_whoever_kept_it(post: Post) -> None:
    """T1: sealed by Alice's keys, opened by Bob's; Carol only held it."""
    make = random.Random(3).randbytes
    alice, bob = (Identity.generate((0x3A,), make) for _ in range(2))
    await post.alice.put(BOB, seal(alice, bob.keys, b"see you", 5, make))
    (message,) = await post.bob.get(BOX)
    assert unseal(bob, message).sender == alice.hashname
