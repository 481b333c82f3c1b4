"""The receiving side of QoS 2."""

from rookery.crow.limits import DuplicateLimits
from rookery.crow.tower.duplicates import Duplicates, DuplicateVerdict
from rookery.wire.crow.packet import ACK21, CrowPacket

HERE, THERE = b"\x0chere", b"\x0cthere"


class Receiver:
    """A memory, and what it sent."""

    def __init__(self, limits: DuplicateLimits | None = None) -> None:
        self.sent: list[CrowPacket] = []
        self.duplicates = Duplicates(limits or DuplicateLimits(), self.sent.extend)

    def hear(
        self, seqid: int, source: bytes = HERE, data: bytes = b"", now: float = 0.0
    ) -> DuplicateVerdict:
        packet = CrowPacket(0, False, source[::-1], len(source), seqid, 2, 100, data)
        return self.duplicates.examine(packet, source, now)

    def settle(self, seqid: int, source: bytes = HERE, now: float = 0.0) -> None:
        assert self.hear(seqid, source, now=now) is DuplicateVerdict.NEW
        assert self.duplicates.confirmed(source, seqid, now)


def test_every_copy_is_acknowledged_and_only_the_first_is_new() -> None:
    """C3."""
    receiver = Receiver()
    assert [receiver.hear(5) for _ in range(3)] == [
        DuplicateVerdict.NEW,
        DuplicateVerdict.COPY,
        DuplicateVerdict.COPY,
    ]
    assert receiver.sent == [CrowPacket(ACK21, True, HERE, 0, 5, 0, 100, b"")] * 3


def test_a_copy_is_known_by_source_number_and_content() -> None:
    """C3."""
    receiver = Receiver()
    assert receiver.hear(5) is DuplicateVerdict.NEW
    assert receiver.hear(6) is DuplicateVerdict.NEW
    assert receiver.hear(5, THERE) is DuplicateVerdict.NEW
    assert receiver.hear(5, data=b"other") is DuplicateVerdict.NEW
    assert receiver.hear(5, data=b"other") is DuplicateVerdict.COPY
    assert receiver.hear(5) is DuplicateVerdict.COPY
    assert len(receiver.duplicates) == 4


def test_late_copies_of_both_lives_of_a_sender_are_known() -> None:
    """C3, C8: it restarted and used the same number again."""
    receiver = Receiver()
    lives = [b"before", b"after"] * 3
    verdicts = [receiver.hear(5, data=data) for data in lives]
    assert verdicts == [DuplicateVerdict.NEW] * 2 + [DuplicateVerdict.COPY] * 4
    receiver.sent.clear()
    receiver.duplicates.tick(0.2)
    assert len(receiver.sent) == 1  # for the living one only
    assert receiver.duplicates.confirmed(HERE, 5, 0.2)
    assert not receiver.duplicates.confirmed(HERE, 5, 0.2)
    assert [receiver.hear(5, data=data) for data in lives] == [DuplicateVerdict.COPY] * 6


def test_a_confirmation_is_taken_once() -> None:
    """C3."""
    receiver = Receiver()
    receiver.hear(5)
    assert not receiver.duplicates.confirmed(THERE, 5, 0.1)
    assert not receiver.duplicates.confirmed(HERE, 6, 0.1)
    assert receiver.duplicates.confirmed(HERE, 5, 0.1)
    assert not receiver.duplicates.confirmed(HERE, 5, 0.1)
    receiver.duplicates.tick(15.0)
    assert receiver.hear(5, now=15.0) is DuplicateVerdict.COPY
    receiver.duplicates.tick(15.2)
    assert len(receiver.duplicates) == 0


def test_the_memory_after_repeating_in_vain_is_as_long() -> None:
    """C3."""
    receiver = Receiver()
    receiver.hear(5)
    for _ in range(5):
        deadline = receiver.duplicates.deadline
        assert deadline is not None
        receiver.duplicates.tick(deadline)
    assert len(receiver.sent) == 5
    assert not receiver.duplicates.confirmed(HERE, 5, 0.6)
    receiver.duplicates.tick(15.5)
    assert receiver.hear(5, now=15.5) is DuplicateVerdict.COPY
    receiver.duplicates.tick(15.6)
    assert receiver.hear(5, now=15.6) is DuplicateVerdict.NEW


def test_a_source_recycles_its_own_oldest_memories() -> None:
    """C3: but never one that may still be repeated."""
    receiver = Receiver(DuplicateLimits(per_source_max=3))
    receiver.hear(0)
    receiver.settle(1)
    receiver.settle(2)
    receiver.settle(3)
    assert len(receiver.duplicates) == 3
    assert receiver.hear(0) is DuplicateVerdict.COPY
    assert receiver.hear(1) is DuplicateVerdict.NEW  # forgotten, and 2 makes room for it
    assert receiver.hear(3) is DuplicateVerdict.COPY


def test_a_source_that_confirms_nothing_is_not_acknowledged_for_ever() -> None:
    """C3."""
    receiver = Receiver(DuplicateLimits(unconfirmed_per_source_max=2))
    verdicts = [receiver.hear(seqid) for seqid in range(3)]
    assert verdicts == [DuplicateVerdict.NEW, DuplicateVerdict.NEW, DuplicateVerdict.UNWELCOME]
    assert len(receiver.sent) == 2
    receiver.duplicates.confirmed(HERE, 0, 0.0)
    assert receiver.hear(2) is DuplicateVerdict.NEW


def test_a_full_memory_takes_room_from_the_greedy_only() -> None:
    """C3."""
    receiver = Receiver(DuplicateLimits(remembered_max=6, share=2))
    for seqid in range(4):
        receiver.settle(seqid)
    for seqid in range(2):
        receiver.settle(seqid, THERE)
    assert receiver.hear(0, b"\x0cthird") is DuplicateVerdict.NEW
    assert receiver.hear(0, b"\x0cfourth") is DuplicateVerdict.NEW
    assert receiver.hear(0, b"\x0cfifth") is DuplicateVerdict.UNWELCOME
    assert [receiver.hear(seqid, THERE) for seqid in range(2)] == [DuplicateVerdict.COPY] * 2
    assert len(receiver.duplicates) == 6


def test_an_established_source_goes_on_while_the_memory_is_full() -> None:
    """C3."""
    receiver = Receiver(DuplicateLimits(remembered_max=4))
    receiver.settle(0)
    receiver.hear(0, THERE)
    for number in range(2):
        receiver.hear(0, b"\x0c%d" % number)
    receiver.settle(1)
    assert receiver.hear(1, THERE) is DuplicateVerdict.UNWELCOME
    assert len(receiver.duplicates) == 4


def test_a_hundred_thousand_sources_leave_the_memory_flat() -> None:
    """C3: and are gone after a while."""
    receiver = Receiver()
    for number in range(100_000):
        receiver.hear(0, b"\x0c%d" % number, now=number / 100_000)
    assert len(receiver.duplicates) == 16384
    receiver.duplicates.tick(2.0)
    for _ in range(4):
        receiver.duplicates.tick(receiver.duplicates.deadline or 0.0)
    assert len(receiver.duplicates) == 16384
    receiver.duplicates.tick(60.0)
    assert len(receiver.duplicates) == 0
    assert receiver.duplicates.deadline is None
