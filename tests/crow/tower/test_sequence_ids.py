"""Numbers of packets."""

from rookery.crow.tower.sequence_ids import SPENT_S, SequenceIds

HERE, THERE = b"\x0chere", b"\x0cthere"


def seqids(first: int = 0) -> SequenceIds:
    return SequenceIds(lambda size: first.to_bytes(size, "little"))


def test_numbers_begin_where_chance_has_it_and_wrap() -> None:
    """C3."""
    numbers = seqids(0xFFFE)
    assert [numbers.take() for _ in range(4)] == [0xFFFE, 0xFFFF, 0, 1]


def test_a_number_in_use_is_passed_over() -> None:
    assert seqids(7).take_free({7, 8}) == 9


def go_round(numbers: SequenceIds, count: int = 1 << 16) -> None:
    for _ in range(count):
        numbers.take()


def test_a_spent_number_does_not_come_back_to_the_same_address() -> None:
    """C3: the receiver would take it for a copy."""
    numbers = seqids(7)
    assert numbers.take_unspent(HERE, (), 100.0) == 7
    go_round(numbers, (1 << 16) - 1)
    assert numbers.take_unspent(HERE, (), 119.0) == 8
    go_round(numbers, (1 << 16) - 2)
    assert numbers.take_unspent(THERE, (), 119.0) == 7


def test_a_number_comes_back_once_the_receiver_has_forgotten_it() -> None:
    numbers = seqids(7)
    numbers.take_unspent(HERE, (), 100.0)
    go_round(numbers, (1 << 16) - 1)
    assert numbers.take_unspent(HERE, (), 100.0 + 2 * SPENT_S) == 7


def test_one_busy_address_never_waits_for_a_number() -> None:
    """Its receiver keeps a few thousand only, and has forgotten the oldest long since."""
    numbers = seqids()
    taken = [numbers.take_unspent(HERE, (), 100.0) for _ in range(1 << 17)]
    assert taken == list(range(1 << 16)) * 2


def test_the_memory_of_spent_numbers_is_bounded() -> None:
    numbers = seqids()
    for index in range(600_000):
        numbers.take_unspent(b"%d" % (index % 1000), (), index / 100_000)
    assert len(numbers) <= 1 << 18


def test_reserved_numbers_are_in_a_row_and_not_spent() -> None:
    """C5: chunks of one message are known by that."""
    numbers = seqids(0xFFFE)
    assert numbers.reserve(HERE, 4, 100.0) == 0xFFFE
    assert numbers.take() == 2
    go_round(numbers, (1 << 16) - 10)
    assert numbers.take() == 0xFFF9
    assert numbers.reserve(HERE, 4, 101.0) == 0xFFFA
    assert numbers.reserve(HERE, 4, 101.0) == 2
    go_round(numbers, (1 << 16) - 12)
    assert numbers.reserve(THERE, 8, 101.0) == 0xFFFA


def test_a_row_is_found_even_when_everything_is_spent() -> None:
    numbers = seqids()
    for _ in range(1 << 16):
        numbers.take_unspent(HERE, (), 100.0)
    assert 0 <= numbers.reserve(HERE, 1024, 100.0) < 1 << 16


def test_reserving_turns_the_memory_over_in_time() -> None:
    numbers = seqids()
    for round_ in range(10):
        numbers.reserve(HERE, 1000, 100.0 + round_ * SPENT_S)
    assert len(numbers) <= 2000
