"""Shared by the verbs of a hub's user: the sign-in, the client's keys, a session with a device."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.fleet.keys import fleet_identity
from rookery.cli.terminal.options import data_folder
from rookery.client import credentials
from rookery.client.api import HubApi
from rookery.client.known_hubs import KnownHubs
from rookery.client.rpc_session import DeviceRpcSession, SeatTakenError
from rookery.client.trust import Trust, read_authorities
from rookery.errors import ProtocolError, UsageError
from rookery.fleet.rendezvous.wish import Grant, WishStep
from rookery.identity.identity import Identity

URL_ENVIRONMENT = "ROOKERY_HUB_URL"
TOKEN_ENVIRONMENT = "ROOKERY_TOKEN"  # noqa: S105 (its name)
CA_ENVIRONMENT = "ROOKERY_CA"
PLAIN_ENVIRONMENT = "ROOKERY_INSECURE_HTTP"
KEYS_FOLDER = "client"
ATTEMPTS_MAX = 4

Mac = Annotated[
    str, Parameter(name="MAC", help="The device, as 02:fc:00:00:00:01 or in another usual form.")
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SignInOptions:
    """Where the sign-in is kept."""

    data: Annotated[
        Path | None,
        Parameter(name="--data", help="Folder of the sign-in; else the user's data folder."),
    ] = None

    @property
    def folder(self) -> Path:
        return self.data or data_folder()

    def api(self) -> HubApi:
        """The hub's API, with the token of the environment or of `rookery login`."""
        url, token = os.environ.get(URL_ENVIRONMENT), os.environ.get(TOKEN_ENVIRONMENT)
        if token:
            if not url:
                raise UsageError(f"{TOKEN_ENVIRONMENT} is set; set {URL_ENVIRONMENT} as well")
            ca = os.environ.get(CA_ENVIRONMENT)
            known = KnownHubs(self.folder).authority(url)
            authority = read_authorities(Path(ca)) if ca else known
            may_be_plain = os.environ.get(PLAIN_ENVIRONMENT) == "1"
            return HubApi(url, token, Trust(authority=authority, may_be_plain=may_be_plain))
        kept = credentials.load(self.folder)
        return HubApi(kept.url, kept.token, kept.trust)

    def identity(self) -> Identity:
        """The client's keys towards servers, made once."""
        return fleet_identity(self.folder / KEYS_FOLDER)


SIGN_IN_OPTIONS = SignInOptions()


@asynccontextmanager
async def device_session(
    signed_in: SignInOptions, mac: bytes, stepped: Callable[[WishStep], None]
) -> AsyncIterator[DeviceRpcSession]:
    """A session with a device of ours; `stepped` is called for every step until then."""
    api, identity = signed_in.api(), signed_in.identity()
    for attempt in range(ATTEMPTS_MAX):
        try:
            session = await DeviceRpcSession.open(identity, await _seat_grant(api, mac, stepped))
            break
        except SeatTakenError:
            # Two programs of one user share a wish, and only the first of them gets the seat.
            if attempt + 1 == ATTEMPTS_MAX:
                raise
    async with session:
        yield session


async def _seat_grant(api: HubApi, mac: bytes, stepped: Callable[[WishStep], None]) -> Grant:
    grant = None
    async for step in api.connect(mac):
        stepped(step)
        grant = step.grant or grant
    if grant is None:
        raise ProtocolError("the hub says it is done, and not where")
    return grant
