"""F4: how many hellos the hub looks at."""

import pytest

from rookery.fleet.reports.rate_limits import HelloLimiter, network
from rookery.link.token_bucket import TokenBucket


def limiter(total: float = 1e6, addresses_max: int = 100) -> HelloLimiter:
    return HelloLimiter(
        TokenBucket(total, total, 0.0), rate=1.0, burst=3.0, addresses_max=addresses_max
    )


def test_a_hundred_thousand_from_one_address_f4() -> None:
    limits = limiter()
    admitted = sum(limits.admits(f"192.0.2.1:{port % 60_000}", 0.0) for port in range(100_000))
    assert admitted == 3
    assert len(limits) == 1
    assert limits.admits("192.0.2.2:1", 0.0)
    assert limits.admits("192.0.2.1:1", 1.0)


def test_the_table_has_a_bound_and_keeps_those_who_go_on() -> None:
    limits = limiter(addresses_max=100)
    for number in range(10_000):
        limits.admits(f"10.0.{number // 250}.{number % 250}:1", 0.0)
        limits.admits("192.0.2.1:1", 0.0)
        assert len(limits) <= 101
    assert not limits.admits("192.0.2.1:1", 0.0)


def test_all_together_have_a_bound() -> None:
    limits = limiter(total=10.0)
    admitted = sum(limits.admits(f"10.0.0.{number}:1", 0.0) for number in range(50))
    assert admitted == 10


def test_one_address_does_not_use_up_what_is_for_all() -> None:
    limits = limiter(total=10.0)
    for _ in range(100):
        limits.admits("192.0.2.1:1", 0.0)
    assert sum(limits.admits(f"10.0.0.{number}:1", 0.0) for number in range(50)) == 7


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.1:4000", "192.0.2.1"),
        ("[2001:db8:1:2:3::4]:4000", "2001:db8:1:2::/64"),
        ("[fe80::1%eth0]:4000", "fe80::/64"),
        ("[::ffff:192.0.2.1]:4000", "192.0.2.1"),
        ("[a:b]:4000", "a:b"),
        ("", ""),
    ],
)
def test_an_address_is_known_by_its_network(address: str, expected: str) -> None:
    assert network(address) == expected
