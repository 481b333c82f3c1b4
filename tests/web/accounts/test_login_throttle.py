"""Counting wrong guesses: in memory and in the Redis that hubs share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.hub.errors import StoreUnavailableError
from rookery.web.accounts.login_throttle import LoginThrottle
from rookery.web.http.problems import TooManyRequestsError
from rookery.web.settings import LoginThrottleLimits
from tests.store.servers import RedisServer

LIMITS = LoginThrottleLimits(per_account_and_address=2, per_address=4, per_account=6, window_s=60)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path) as server:
        yield server


async def is_stopped(throttle: LoginThrottle, login: str, address: str) -> bool:
    try:
        await throttle.check(login, address)
    except TooManyRequestsError:
        return True
    return False


async def guess(throttle: LoginThrottle, login: str, address: str, times: int) -> None:
    for _ in range(times):
        await throttle.was_wrong(login, address)


async def test_pairs_addresses_and_accounts_have_their_own_bounds() -> None:
    throttle = LoginThrottle(LIMITS, "ram:")
    await guess(throttle, "ann", "192.0.2.1", 2)
    assert await is_stopped(throttle, "ann", "192.0.2.1")
    assert not await is_stopped(throttle, "ann", "192.0.2.2")
    assert not await is_stopped(throttle, "bob", "192.0.2.1")
    await guess(throttle, "bob", "192.0.2.1", 2)
    assert await is_stopped(throttle, "eve", "192.0.2.1")
    for number in range(10, 14):
        await guess(throttle, "ann", f"192.0.2.{number}", 1)
    assert await is_stopped(throttle, "ann", "192.0.2.99")


async def test_the_last_guess_of_an_account_says_so() -> None:
    throttle = LoginThrottle(LoginThrottleLimits(per_account=3, window_s=60), "ram:")
    results = [await throttle.was_wrong("ann", f"192.0.2.{number}") for number in range(3)]
    assert results == [False, False, True]
    assert not await throttle.was_wrong("bob", "192.0.2.1")


async def test_who_shares_a_place_with_whom_is_another_secret_each_time() -> None:
    """Whoever could work it out would lock an account out with logins that nobody has."""
    many = LoginThrottleLimits(per_account_and_address=10**9, per_address=10**9, per_account=1)
    logins = [f"made up {number}" for number in range(100)]

    async def neighbours() -> list[bool]:
        throttle = LoginThrottle(many, "ram:", places=8)
        await throttle.was_wrong("admin", "192.0.2.1")
        return [await is_stopped(throttle, login, "192.0.2.2") for login in logins]

    assert await neighbours() != await neighbours()


async def test_one_household_of_ipv6_counts_as_one_address() -> None:
    throttle = LoginThrottle(LIMITS, "ram:")
    await guess(throttle, "ann", "2001:db8::1", 2)
    assert await is_stopped(throttle, "ann", "2001:db8::ffff")
    assert not await is_stopped(throttle, "ann", "2001:db8:0:1::1")


async def test_any_number_of_logins_takes_a_bounded_number_of_places() -> None:
    """Names that are made up cannot grow the table: they share places."""
    many = LoginThrottleLimits(per_account_and_address=10**9, per_address=10**9, per_account=1)
    throttle = LoginThrottle(many, "ram:", places=16)
    await throttle.was_wrong("known", "192.0.2.1")
    made_up = [
        await is_stopped(throttle, f"made up {number}", "192.0.2.1") for number in range(200)
    ]
    assert 1 <= sum(made_up) < 100


@pytest.mark.xdist_group("databases")
async def test_hubs_on_one_redis_count_together(redis: RedisServer) -> None:
    first, second = LoginThrottle(LIMITS, redis.url), LoginThrottle(LIMITS, redis.url)
    try:
        await guess(first, "ann", "192.0.2.1", 1)
        await guess(second, "ann", "192.0.2.1", 1)
        assert await is_stopped(first, "ann", "192.0.2.1")
        assert await is_stopped(second, "ann", "192.0.2.1")
        redis.stop()
        with pytest.raises(StoreUnavailableError):
            await first.check("ann", "192.0.2.1")
        redis.start()
        assert not await is_stopped(first, "bob", "192.0.2.7")
    finally:
        await first.close()
        await second.close()
