"""A hub whose clock stands where a test puts it, and accounts with second factors."""

import time
from base64 import b32decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec

from rookery.web.accounts.factors.totp import code_at, step_of
from rookery.web.settings import WebSettings
from tests.web.authenticator import Algorithm, Json, SoftPasskey, from_base64url
from tests.web.world import PASSWORD, SETTINGS, World, world

API = "/api/v1"
FACTORS = f"{API}/me/factors"


class Clock:
    """The wall clock of a hub."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


class App:
    """An authenticator app that was set up."""

    def __init__(self, secret: str, clock: Clock) -> None:
        self._secret = b32decode(secret + "=" * (-len(secret) % 8))
        self._clock = clock

    def code(self, steps_on: int = 0) -> str:
        """What it shows, now or some half minutes on."""
        return code_at(self._secret, step_of(self._clock()) + steps_on)

    def next_code(self) -> str:
        """One that was not used yet: the clock goes on to the next half minute."""
        self._clock.now += 30
        return self.code()

    def wrong_code(self) -> str:
        """None of those that are good now."""
        good = {self.code(steps) for steps in (-1, 0, 1)}
        return next(code for code in ("000000", "111111", "222222", "333333") if code not in good)


class FactorWorld:
    """What the tests need of it."""

    def __init__(self, made: World, clock: Clock) -> None:
        self.world = made
        self.clock = clock

    async def with_app(
        self, login: str, role: str = "user"
    ) -> tuple[httpx.AsyncClient, App, list[str]]:
        """A session of a new account with an app, and its recovery codes."""
        client = await self.world.signed_in(login, role)  # type: ignore[arg-type]
        app, codes = await self.add_app(client)
        return client, app, codes

    async def add_app(self, client: httpx.AsyncClient) -> tuple[App, list[str]]:
        begun = await client.post(f"{FACTORS}/totp")
        assert begun.status_code == 201, begun.text
        app = App(begun.json()["secret"], self.clock)
        done = await client.post(f"{FACTORS}/totp/confirm", json={"code": app.code()})
        assert done.status_code == 201, done.text
        return app, done.json()["recovery_codes"]

    async def with_passkey(
        self, login: str, algorithm: Algorithm = "ES256"
    ) -> tuple[httpx.AsyncClient, SoftPasskey, bytes]:
        """A session of a new account with a passkey, and the handle it knows the account by."""
        client = await self.world.signed_in(login)
        passkey, handle = await self.add_passkey(client, algorithm)
        return client, passkey, handle

    async def add_passkey(
        self, client: httpx.AsyncClient, algorithm: Algorithm = "ES256"
    ) -> tuple[SoftPasskey, bytes]:
        options = await creation_options(client)
        passkey = SoftPasskey.make(algorithm)
        body = {"name": "key", "credential": passkey.registration(options)}
        made = await client.post(f"{FACTORS}/passkeys", json=body)
        assert made.status_code == 201, made.text
        user = options["user"]
        assert isinstance(user, dict)
        return passkey, from_base64url(user["id"])

    async def sign_in(
        self, login: str, code: str = "", password: str = PASSWORD, address: str = "192.0.2.1"
    ) -> httpx.Response:
        """From a browser that is not signed in."""
        async with self.world.anonymous(address) as client:
            body = {"login": login, "password": password, "code": code}
            return await client.post(f"{API}/session", json=body)

    async def audited(self, what: str) -> list[Json]:
        """The details of those rows, the newest first."""
        rows = await self.world.site.audit.latest(what=what)
        return [dict(row.detail) for row in rows]


async def creation_options(client: httpx.AsyncClient) -> Json:
    answer = await client.post(f"{FACTORS}/passkeys/options")
    assert answer.status_code == 201, answer.text
    return msgspec.json.decode(answer.content, type=dict[str, object])


async def request_options(client: httpx.AsyncClient, path: str = "/session/passkey") -> Json:
    answer = await client.post(f"{API}{path}/options")
    assert answer.status_code == 201, answer.text
    return msgspec.json.decode(answer.content, type=dict[str, object])


@asynccontextmanager
async def factor_world(
    folder: Path, template: Path, settings: WebSettings = SETTINGS
) -> AsyncIterator[FactorWorld]:
    clock = Clock()
    async with world(folder, template, settings) as made:
        made.site.wall = clock
        yield FactorWorld(made, clock)
