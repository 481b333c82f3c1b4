"""`rookery fleet forget`: remove a device or a server from the fleet.

It loses its owner; its keys and the codes that it used are void. All hubs of the database heed
it in a second, and have servers end the sessions with it.
"""

import time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli.fleet.hub_database import DATABASE_OPTIONS, HubDatabaseOptions, hub_database
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, remark
from rookery.errors import DecodeError, UsageError
from rookery.identity.hashname import is_hashname
from rookery.wire.fleet.mac import mac_text, parse_mac

if TYPE_CHECKING:
    from rookery.fleet.entry import FleetEntry
    from rookery.store.database.database import Database

_ACTOR = "rookery fleet"


def forget(
    which: Annotated[
        str,
        Parameter(
            name="DEVICE|SERVER", help="MAC of a device, or hashname of a device or a server."
        ),
    ],
    /,
    *,
    store: HubDatabaseOptions = DATABASE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    return run_verb(_forget(which, store, output))


async def _forget(which: str, store: HubDatabaseOptions, output: Output) -> int:
    async with hub_database(store) as database:
        from rookery.store.accounts.audit import AuditRow, AuditTrail
        from rookery.store.fleet.forgotten import ForgottenEntries

        now = time.time()
        entry = await _found(database, which)
        is_server = entry.kind == "server"
        owner = None if is_server else await _owner(database, entry.sender)
        await ForgottenEntries(database).add(entry, now=now)
        what, target = "device.forget", mac_text(entry.sender)
        if is_server:
            what, target = "server.forget", entry.hashname
        detail: dict[str, object] = {"outcome": "ok", "hashname": entry.hashname, "owner": owner}
        row = AuditRow(at=now, who=_ACTOR, what=what, target=target, detail=detail)
        await AuditTrail(database).add(row)
    if output.json:
        shown: dict[str, object] = {"kind": entry.kind, "hashname": entry.hashname}
        print_json(shown if is_server else {**shown, "mac": target, "owner": owner})
    else:
        remark(f"{target} is forgotten; it needs a new code to come back")
    return OK


async def _found(database: "Database", which: str) -> "FleetEntry":
    """The one entry that is meant; UsageError if there is none, or several."""
    from rookery.store.fleet.entries import Entries

    entries = Entries(database)
    if is_hashname(which):
        found = await entries.of(which)
    else:
        try:
            mac = parse_mac(which)
        except (DecodeError, UsageError, ValueError) as error:
            raise UsageError(f"{which} is neither a MAC nor a hashname of 52 characters") from error
        found = [entry for entry in await entries.find([mac]) if entry is not None]
    if not found:
        raise UsageError(
            f"no device or server {which} is known; one that enrolled in the last minute may not "
            "be in the database yet"
        )
    if len(found) > 1:
        macs = ", ".join(mac_text(entry.sender) for entry in found)
        raise UsageError(f"several devices have this hashname, give a MAC: {macs}")
    return found[0]


async def _owner(database: "Database", mac: bytes) -> str | None:
    """The login of the device's owner."""
    from rookery.store.accounts.accounts import Accounts
    from rookery.store.fleet.devices import Devices

    device = await Devices(database).find(mac)
    account = None if device is None else await Accounts(database).get(device.owner)
    return None if account is None else account.login
