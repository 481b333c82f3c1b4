"""Enrolment with a code: look it up, use it once, and give the device to the code's owner."""

from collections.abc import Sequence

from rookery.errors import DeniedError
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.entry import FleetEntry
from rookery.hub.clock import HubClock
from rookery.store.database.database import Database
from rookery.store.fleet.codes import EnrolmentCodes
from rookery.store.fleet.devices import Devices
from rookery.wire.fleet.mac import mac_text


class CodeRedemption:
    """Waits for the database, so it is kept apart from the processing of reports."""

    def __init__(self, database: Database, clock: HubClock) -> None:
        self._codes = EnrolmentCodes(database)
        self._devices = Devices(database)
        self._clock = clock

    async def codes(self, ids: Sequence[bytes]) -> dict[bytes, EnrolmentCode | None]:
        """Each as the database has it, or None."""
        return dict(zip(ids, await self._codes.find(ids), strict=True))

    async def owners(self, devices: Sequence[bytes]) -> dict[bytes, int]:
        """Accounts, of those that have one."""
        return {mac: device.owner for mac, device in (await self._devices.some(devices)).items()}

    async def redeem(self, entry: FleetEntry, code: EnrolmentCode) -> bool:
        """True if the code is for this sender; UnreachableError."""
        now = self._clock.now()
        if not await self._codes.redeem(code.id, entry.hashname, now):
            return False
        if entry.kind == "router" and code.owner is not None:
            try:
                name = mac_text(entry.sender)
                await self._devices.claim(entry.sender, code.owner, name, now=now)
            except DeniedError:
                return False
        return True
