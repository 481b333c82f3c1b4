"""Messages put together from chunks."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.crow.limits import ReassemblyLimits
from rookery.crow.nodes.reassembly import COMPLETE_WITHIN_S, MessageReassembly
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import CrowPacket

HERE, THERE = b"\x0chere", b"\x0cthere"


class Receiver:
    """Chunks as they arrive, numbered like their packets."""

    def __init__(self, limits: ReassemblyLimits | None = None) -> None:
        self.dropped: Counter[str] = Counter()
        self.chunks = MessageReassembly(limits or ReassemblyLimits(), self.dropped)

    def hear(
        self,
        chunk: NodePacket,
        seqid: int,
        *,
        source: bytes = HERE,
        qos: int = 2,
        now: float = 0.0,
    ) -> bytes | None:
        packet = CrowPacket(3, False, b"", 0, seqid % 65536, qos, 50, b"")
        return self.chunks.add(chunk, packet, source, now)


def split(data: bytes, step: int = 10, sid: int = 9, rid: int = 10) -> list[NodePacket]:
    return NodePacket(sid, rid, data).chunks(step + 7)


@given(
    data=st.binary(min_size=13, max_size=200),
    step=st.integers(5, 10),
    first=st.integers(0, 65535),
    qos=st.integers(0, 2),
    order=st.randoms(use_true_random=False),
)
def test_chunks_may_come_in_any_order_and_more_than_once(
    data: bytes, step: int, first: int, qos: int, order: Random
) -> None:
    """C5."""
    numbered = list(enumerate(split(data, step), first))
    coming = numbered + order.choices(numbered, k=3) if qos else numbered
    order.shuffle(coming)
    receiver = Receiver()
    heard = [receiver.hear(chunk, seqid, qos=qos) for seqid, chunk in coming]
    whole = [message for message in heard if message is not None]
    assert whole[:1] == [data]
    if qos < 2:  # with QoS 2 the tower lets no copy through
        assert whole == [data]


def test_each_pair_of_nodes_and_each_source_has_its_own_message() -> None:
    """C5."""
    receiver = Receiver()
    streams = [
        (HERE, split(b"a" * 20)),
        (THERE, split(b"b" * 20)),
        (HERE, split(b"c" * 20, sid=8)),
        (HERE, split(b"d" * 20, rid=8)),
    ]
    heard = [
        receiver.hear(chunks[index], index, source=source)
        for index in range(2)
        for source, chunks in streams
    ]
    assert heard[:4] == [None] * 4
    assert heard[4:] == [letter * 20 for letter in (b"a", b"b", b"c", b"d")]
    assert len(receiver.chunks) == receiver.chunks.size == 0


def test_an_incomplete_message_is_given_up() -> None:
    """C5: 5 s after its first chunk."""
    receiver = Receiver()
    first, second, third = split(b"a" * 30)
    receiver.hear(first, 0)
    receiver.hear(second, 1, now=4.0)
    assert receiver.chunks.deadline == COMPLETE_WITHIN_S
    receiver.chunks.tick(COMPLETE_WITHIN_S)
    assert receiver.hear(third, 2, now=5.0) is None
    assert receiver.dropped == {"incomplete message": 1}
    assert len(receiver.chunks) == 1


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_what_a_message_lacks_is_not_taken_from_another(qos: int, missing: int) -> None:
    """C5: the first message lacks a chunk for good, the second one gets that chunk last."""
    receiver = Receiver()
    first = list(enumerate(split(b"a" * 30), 65534))
    second = list(enumerate(split(b"b" * 30), 65537))
    first.pop(missing)
    second.append(second.pop(missing))
    heard = [receiver.hear(chunk, seqid, qos=qos) for seqid, chunk in first + second]
    assert heard == [None, None, None, None, b"b" * 30]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_that_overlap_are_both_put_together(qos: int) -> None:
    """C5, C8: a C++ sender does not wait for the end of the first."""
    receiver = Receiver()
    first = list(enumerate(split(b"a" * 30), 100))
    second = list(enumerate(split(b"b" * 30), 103))
    mixed = [each for pair in zip(first, second, strict=True) for each in pair]
    heard = [receiver.hear(chunk, seqid, qos=qos) for seqid, chunk in mixed]
    assert heard == [None] * 4 + [b"a" * 30, b"b" * 30]


def test_copies_do_not_begin_a_message() -> None:
    """C5: QoS 1 hands them on, before the message is complete and after."""
    receiver = Receiver()
    chunks = split(b"a" * 20)
    for seqid in (0, 0, 1, 1, 0):
        receiver.hear(chunks[seqid], seqid, qos=1)
    assert receiver.dropped == {"copy of a chunk": 3}
    receiver.chunks.tick(COMPLETE_WITHIN_S)
    assert len(receiver.chunks) == 0
    assert "incomplete message" not in receiver.dropped


@pytest.mark.parametrize("is_complete", [False, True])
def test_messages_of_a_sender_that_counts_anew_arrive(*, is_complete: bool) -> None:
    """C5, C8: its message has the number of one from before."""
    receiver = Receiver()
    before, after = split(b"a" * 20), split(b"b" * 20)
    for seqid, chunk in enumerate(before if is_complete else before[:1]):
        receiver.hear(chunk, seqid, qos=1)
    heard = [receiver.hear(chunk, seqid, qos=1) for seqid, chunk in enumerate(after)]
    assert heard == [None, b"b" * 20]
    assert receiver.chunks.size == 0


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 9), st.integers(0, 2))))
def test_arbitrary_chunks_never_raise(
    arriving: list[tuple[int, bool, int, int]],
) -> None:
    """C5: and leave nothing behind in the end."""
    receiver = Receiver()
    for chunk_id, has_more, seqid, qos in arriving:
        chunk = NodePacket(9, 10, b"abc", chunk_id=chunk_id, has_more=has_more)
        receiver.hear(chunk, seqid, qos=qos)
    receiver.chunks.tick(COMPLETE_WITHIN_S)
    assert len(receiver.chunks) == receiver.chunks.size == 0


@pytest.mark.parametrize(
    "chunks",
    [
        [NodePacket(9, 10, b"a", chunk_id=1024)],
        [NodePacket(9, 10, bytes(65537), chunk_id=0)],
        [
            NodePacket(9, 10, bytes(40000), chunk_id=0, has_more=True),
            NodePacket(9, 10, bytes(40000), chunk_id=1),
        ],
        [
            NodePacket(9, 10, b"a", chunk_id=1, has_more=True),
            NodePacket(9, 10, b"a", chunk_id=2, has_more=True),
            NodePacket(9, 10, b"a", chunk_id=0),
        ],
        [
            NodePacket(9, 10, b"a", chunk_id=5, has_more=True),
            NodePacket(9, 10, b"a", chunk_id=1),
        ],
        [NodePacket(9, 10, b"a", chunk_id=1), NodePacket(9, 10, b"a", chunk_id=3)],
    ],
    ids=["too many", "too large", "too large together", "after its end", "gap", "two ends"],
)
def test_what_no_sender_would_split_so_is_dropped(chunks: list[NodePacket]) -> None:
    """C5."""
    receiver = Receiver()
    seqids = [chunk.chunk_id or 0 for chunk in chunks]
    heard = [receiver.hear(chunk, seqid) for chunk, seqid in zip(chunks, seqids, strict=True)]
    assert heard == [None] * len(chunks)
    assert receiver.dropped == {"chunk out of bounds": 1}
    assert receiver.chunks.size == 0


def test_a_message_of_1024_chunks_and_one_of_64_kib_come_through() -> None:
    """C5."""
    receiver = Receiver()
    for size, step in ((1024, 1), (1 << 16, 1000)):
        chunks = split(bytes(size), step)
        heard = [receiver.hear(chunk, seqid) for seqid, chunk in enumerate(chunks)]
        assert heard[-1] == bytes(size)


def test_unknown_senders_are_bounded_and_do_not_disturb_other_messages() -> None:
    """C5: 100,000 sources that begin a message."""
    receiver = Receiver(ReassemblyLimits(messages_max=8, per_source_max=2))
    chunks = split(b"a" * 20)
    receiver.hear(chunks[0], 0)
    for number in range(100_000):
        receiver.hear(chunks[0], 0, source=b"\x0c%d" % number)
    assert len(receiver.chunks) == 8
    assert receiver.hear(chunks[1], 1) == b"a" * 20
    for sid in range(5):
        receiver.hear(split(b"a" * 20, sid=sid)[0], 0)
    assert len(receiver.chunks) == 8


def test_one_source_pushes_out_its_own_oldest_message() -> None:
    """C5: many messages that lost a chunk do not keep the next one out."""
    receiver = Receiver(ReassemblyLimits(per_source_max=2))
    for number in range(5):
        receiver.hear(split(b"%d" % number * 20)[0], 2 * number)
    assert len(receiver.chunks) == 2
    assert receiver.dropped == {"incomplete message": 3}
    assert receiver.hear(split(b"4" * 20)[1], 9) == b"4" * 20


def test_a_known_source_goes_on_while_the_memory_is_full() -> None:
    """C5."""
    receiver = Receiver(ReassemblyLimits(messages_max=2))
    receiver.hear(split(b"a" * 20)[0], 0)
    receiver.hear(split(b"b" * 20)[0], 0, source=THERE)
    receiver.hear(split(b"c" * 20)[0], 10)
    assert receiver.hear(split(b"c" * 20)[1], 11) == b"c" * 20
    assert receiver.hear(split(b"b" * 20)[1], 1, source=THERE) == b"b" * 20


def test_a_finished_message_makes_room_for_a_new_one() -> None:
    """C5: it is only kept to know its copies."""
    receiver = Receiver(ReassemblyLimits(messages_max=1))
    for seqid, chunk in enumerate(split(b"a" * 20)):
        receiver.hear(chunk, seqid, qos=1)
    heard = [
        receiver.hear(chunk, seqid, source=THERE, qos=1)
        for seqid, chunk in enumerate(split(b"b" * 20))
    ]
    assert heard == [None, b"b" * 20]


def test_the_bytes_of_all_messages_are_bounded() -> None:
    """C5."""
    receiver = Receiver(ReassemblyLimits(bytes_max=25))
    for source in (HERE, THERE, b"\x0celse"):
        receiver.hear(split(b"a" * 30)[0], 0, source=source)
    assert receiver.chunks.size == 20
    receiver.hear(split(b"a" * 30)[1], 1)
    assert receiver.chunks.size == 20
    assert receiver.dropped == {"too many chunks": 2}
