"""Enrolment with a code: looked up, used once, and the router becomes its owner's."""

from collections.abc import Sequence

from rookery.errors import DeniedError
from rookery.fleet.code import Code
from rookery.fleet.entry import Entry
from rookery.hub.clock import HubClock
from rookery.store.codes import Codes
from rookery.store.database import Database
from rookery.store.devices import Devices
from rookery.wire.mac import mac_text


class Enrolment:
    """Everything here waits for the database, so it is kept apart from the way of reports."""

    def __init__(self, database: Database, clock: HubClock) -> None:
        self._codes = Codes(database)
        self._devices = Devices(database)
        self._clock = clock

    async def codes(self, ids: Sequence[bytes]) -> dict[bytes, Code | None]:
        """Each as the database has it, or None."""
        return dict(zip(ids, await self._codes.find(ids), strict=True))

    async def owners(self, routers: Sequence[bytes]) -> dict[bytes, int]:
        """Accounts, of those that have one."""
        return {mac: device.owner for mac, device in (await self._devices.some(routers)).items()}

    async def redeem(self, entry: Entry, code: Code) -> bool:
        """Whether this reporter is the one that the code is for; UnreachableError."""
        now = self._clock.now()
        if not await self._codes.redeem(code.id, entry.hashname, now):
            return False
        if entry.kind == "router" and code.owner is not None:
            try:
                name = mac_text(entry.reporter)
                await self._devices.claim(entry.reporter, code.owner, name, now=now)
            except DeniedError:
                return False
        return True
