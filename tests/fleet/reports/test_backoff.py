"""Backoff."""

from rookery.fleet.reports.sender_limits import backoff


def low(size: int) -> bytes:
    return bytes(size)


def high(size: int) -> bytes:
    return b"\xff" * size


def test_pauses_double_up_to_a_bound_give_or_take_a_quarter() -> None:
    assert [backoff(1.0, 10.0, tries, low) for tries in range(6)] == [0.75, 1.5, 3.0, 6.0, 7.5, 7.5]
    assert 1.2499 < backoff(1.0, 10.0, 0, high) < 1.25
    assert backoff(1.0, 10.0, 100_000, high) < 12.5
