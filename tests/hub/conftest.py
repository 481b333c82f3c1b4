"""A hub on loopback, with its stores in a folder of the test's own."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from rookery.fleet.enrolment import secrets
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.entry import FleetKind
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings
from rookery.runtime.endpoint import keystore
from rookery.store.accounts.accounts import Accounts
from rookery.store.fleet.codes import EnrolmentCodes
from tests.hub.identities import identity

Start = Callable[[HubSettings], Awaitable[Hub]]


@pytest.fixture
def settings(tmp_path: Path) -> HubSettings:
    """With keys that other tests use as well."""
    data = tmp_path / "hub"
    keystore.save(data, identity("hub"))
    return HubSettings(data=data, policy="open")


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts hubs and closes those that the test did not."""
    async with AsyncExitStack() as stack:

        async def begin(settings: HubSettings) -> Hub:
            return await stack.enter_async_context(await Hub.start(settings))

        yield begin


@pytest.fixture
async def hub(settings: HubSettings, start: Start) -> Hub:
    return await start(settings)


async def new_code(
    hub: Hub,
    kind: FleetKind,
    *,
    expires_at: float = 4e9,
    owner: int | None = None,
    is_owned: bool = True,
) -> str:
    """A code of an account, which is made for it unless it is given; or of none."""
    if owner is None and is_owned:
        login = f"owner-{os.urandom(4).hex()}"
        owner = (await Accounts(hub.database).add(login, "no password", now=0.0)).id
    text = secrets.new_code(os.urandom)
    key = secrets.code_key(text)
    code = EnrolmentCode(
        id=secrets.code_id(key), key=key, kind=kind, owner=owner, expires_at=expires_at
    )
    await EnrolmentCodes(hub.database).add(code, now=0.0)
    return text


def with_(settings: HubSettings, **changes: object) -> HubSettings:
    return msgspec.structs.replace(settings, **changes)
