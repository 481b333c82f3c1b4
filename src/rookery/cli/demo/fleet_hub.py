"""Hub and servers of the demo.

The hub is a process of its own, with an administrator who owns all devices. The servers run in
this process; there are two, so that one may die."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rookery.cli.demo.child import ChildProcess, child
from rookery.cli.demo.folder import DemoFolder
from rookery.cli.demo.ports import HOST
from rookery.cli.demo.site_plan import HUB_NODE, SERVERS
from rookery.cli.fleet.hub_database import HubDatabaseOptions, hub_database
from rookery.client import credentials
from rookery.client.api import HubApi
from rookery.client.credentials import HubCredentials
from rookery.errors import UnreachableError
from rookery.identity.identity import Identity
from rookery.runtime.control.server import FILE_NAME
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.server.server import Server
from rookery.server.settings import ServerSettings
from rookery.wire.link.uri import LinkAddress

LOGIN = "admin"
SILENT_S = 15.0
START_S = 60.0
CODE_S = 3600.0

_PASSWORD_BYTES = 9
_LOOK_S = 0.1


@dataclass(frozen=True, kw_only=True)
class HubPlan:
    """The ports and options that the hub is started with."""

    http: int
    fleet: int
    forecaster: str
    has_lake: bool

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.http}"


@dataclass(frozen=True)
class PreparedHub:
    """Made before the hub runs; the password is shown once and kept nowhere."""

    password: str
    server_codes: dict[str, str]

    def __repr__(self) -> str:
        return "PreparedHub()"


async def prepare(folder: DemoFolder) -> PreparedHub:
    """The hub's database, with an administrator and codes for the servers."""
    from rookery.store.accounts.accounts import Accounts
    from rookery.store.fleet.codes import EnrolmentCodes
    from rookery.web.accounts.passwords import Passwords
    from rookery.web.devices.enrolment_codes import add_code
    from rookery.web.settings import PasswordCost

    password, now = secrets.token_urlsafe(_PASSWORD_BYTES), time.time()
    hashed = await Passwords(PasswordCost()).hash(password)
    codes = {}
    async with hub_database(HubDatabaseOptions(data=folder.hub)) as database:
        await Accounts(database).add(LOGIN, hashed, now=now, role="admin")
        for name in SERVERS:
            made = await add_code(EnrolmentCodes(database), "server", None, now=now, seconds=CODE_S)
            codes[name] = made[0]
    return PreparedHub(password, codes)


@asynccontextmanager
async def hub(folder: DemoFolder, plan: HubPlan) -> AsyncIterator[tuple[ChildProcess, HubAddress]]:
    """Run the hub; its process and its address."""
    async with child(
        "hub",
        _arguments(folder, plan),
        log=folder.log("hub"),
        out=folder.hub_link,
    ) as running:
        yield running, await _link(running, folder.hub_link)


def _arguments(folder: DemoFolder, plan: HubPlan) -> list[str]:
    fleet = f"{HOST}:{plan.fleet}"
    arguments = ["hub", "--data", str(folder.hub), "--http", f"{HOST}:{plan.http}"]
    arguments += ["--udp", fleet, "--tcp", fleet, "--silent-after", str(SILENT_S)]
    arguments += ["--policy", "open"]  # all of it is on this machine, and made for the demo
    arguments += ["--node", str(folder.member(HUB_NODE) / FILE_NAME)]
    if plan.has_lake:
        arguments += ["--lake", str(folder.lake), "--forecaster", plan.forecaster]
        arguments += ["--forecast", str(folder.export / "forecast.rka")]
    return arguments


async def _link(running: ChildProcess, file: Path) -> HubAddress:
    """The hub's link, from the first line that it prints."""
    try:
        async with asyncio.timeout(START_S):
            while not (text := await asyncio.to_thread(file.read_text)).endswith("\n"):
                if not running.is_running:
                    await running.failed()
                await asyncio.sleep(_LOOK_S)
    except TimeoutError as error:
        raise UnreachableError(f"the hub says nothing for {START_S:g} s; see its log") from error
    return HubAddress(LinkAddress.parse(text))


async def signed_in(plan: HubPlan, password: str, folder: Path) -> HubApi:
    """Sign in as the administrator, also for the commands of the tour."""
    api = HubApi(plan.url)
    await api.sign_in(LOGIN, password)
    token = await api.make_token("demo")
    kept = HubCredentials(url=plan.url, login=LOGIN, token=token.token, token_id=token.id)
    await asyncio.to_thread(credentials.save, folder, kept)
    return api


SEATS = 256
REPORT_S = 5.0


class DemoServer:
    """One server; `opened` runs it while it has power."""

    def __init__(self, folder: Path, identity: Identity, hub: HubAddress, code: str) -> None:
        self._identity = identity
        self._hub = hub
        self._settings = ServerSettings(
            folder=folder,
            tcp=f"{HOST}:0",
            http=f"{HOST}:0",
            seats_max=SEATS,
            code=code,
            report_s=REPORT_S,
            drain_s=0.2,
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Server]:
        server = await Server.start(self._settings, self._identity, self._hub)
        try:
            yield server
        finally:
            await server.close()
