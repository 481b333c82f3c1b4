"""The log of a world."""

from rookery.sim.journal import Journal


def test_the_digest_tells_every_difference() -> None:
    def digest(now: float, number: int, data: bytes, note: str) -> str:
        journal = Journal()
        journal.packet(now, "a > b", number, data)
        journal.note(now, note)
        return journal.digest

    usual = digest(1.0, 1, b"data", "note")
    assert usual == digest(1.0, 1, b"data", "note")
    others = [(1.5, 1, b"data", "note"), (1.0, 2, b"data", "note")]
    others += [(1.0, 1, b"dada", "note"), (1.0, 1, b"data", "nope")]
    assert usual not in [digest(*other) for other in others]


def test_the_digest_continues_after_it_was_read_and_over_many_packets() -> None:
    journal, once = Journal(), Journal()
    for number in range(5000):
        journal.packet(0.0, "a > b", number, b"x")
        once.packet(0.0, "a > b", number, b"x")
        if number % 700 == 0:
            assert journal.digest
    assert journal.digest == once.digest
    assert journal.count == 5000


def test_the_last_events_are_kept_in_words() -> None:
    journal = Journal(kept=2)
    journal.note(0.5, "forgotten")
    journal.packet(1.0, "a > b", 1, b"data")
    journal.note(2.0, "b crashes")
    assert [line.split() for line in journal.lines()] == [
        ["1.000000", "a", ">", "b", "4", "bytes"],
        ["2.000000", "b", "crashes"],
    ]
    assert len(journal.lines(1)) == 1
