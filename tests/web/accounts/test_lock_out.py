"""M8: whoever guesses wrong, over real HTTP, locks out nobody whose login was not guessed at."""

from collections.abc import Iterator
from hashlib import blake2s
from itertools import count, islice, product

import httpx
import msgspec

from rookery.web.serve import serve
from rookery.web.settings import LoginThrottleLimits
from tests.patience import PATIENCE_S
from tests.web.world import PASSWORD, SETTINGS, World

PLACES = 1 << 16
LIMITS = LoginThrottleLimits()
DEFAULTS = msgspec.structs.replace(SETTINGS, guesses=LIMITS, trusted_proxies="127.0.0.1")
ADDRESSES = [f"198.51.100.{number}" for number in range(7)]


def place(login: str) -> int:
    """Where wrong guesses for a login were counted while the hash had no key."""
    return int.from_bytes(blake2s(login.encode(), digest_size=8).digest(), "big") % PLACES


def neighbours(login: str) -> Iterator[str]:
    """Logins that nobody has, and that shared its place."""
    return (made for made in map("guest{}".format, count()) if place(made) == place(login))


async def sign_in(http: httpx.AsyncClient, login: str, password: str, address: str) -> int:
    body, headers = {"login": login, "password": password}, {"X-Forwarded-For": address}
    return (await http.post("/api/v1/session", json=body, headers=headers)).status_code


async def test_invented_logins_lock_no_account_out(hubworld: World) -> None:
    """Four logins from seven addresses were enough for 200 wrong guesses of the admin's."""
    await hubworld.account("admin", "admin")
    logins = list(islice(neighbours("admin"), 4))
    guesses = list(product(ADDRESSES, logins, range(LIMITS.per_account_and_address)))
    assert len(guesses) >= LIMITS.per_account
    async with (
        serve(hubworld.hub, "127.0.0.1", 0, DEFAULTS) as url,
        httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as http,
    ):
        for address, login, _ in guesses:
            assert await sign_in(http, login, "wrong", address) == 401
        assert await sign_in(http, "admin", PASSWORD, "203.0.113.9") == 201
