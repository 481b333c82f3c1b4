"""`rookery fleet code`: a code with which one new server or device may enrol."""

import time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli.fleet.hub_database import DATABASE_OPTIONS, HubDatabaseOptions, hub_database
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json
from rookery.errors import UsageError

if TYPE_CHECKING:
    from rookery.fleet.entry import FleetKind
    from rookery.store.database.database import Database

_HOURS = 24.0


def code(
    *,
    server: Annotated[
        bool, Parameter(name="--server", negative="", show_default=False, help="For a server.")
    ] = False,
    device: Annotated[
        bool,
        Parameter(
            name="--router", negative="", show_default=False, help="For a device; the default."
        ),
    ] = False,
    owner: Annotated[
        str | None,
        Parameter(
            name="--owner",
            help="LOGIN of the account that will own the device; without it, none does.",
        ),
    ] = None,
    hours: Annotated[float, Parameter(name="--hours", help="How long it can be used.")] = _HOURS,
    store: HubDatabaseOptions = DATABASE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if server and device:
        raise UsageError("a code is for a server or for a device, not for both")
    if not 0 < hours <= 24 * 366:
        raise UsageError(f"--hours {hours:g}: give a time between now and a year")
    return run_verb(_make(owner, hours * 3600, store, output, is_server=server))


async def _make(
    owner: str | None, seconds: float, store: HubDatabaseOptions, output: Output, *, is_server: bool
) -> int:
    async with hub_database(store) as database:
        from rookery.store.accounts.audit import AuditRow, AuditTrail
        from rookery.store.fleet.codes import EnrolmentCodes
        from rookery.web.devices.enrolment_codes import add_code

        account = None if owner is None else await _account(database, owner)
        now = time.time()
        kind: FleetKind = "server" if is_server else "router"
        made, kept = await add_code(
            EnrolmentCodes(database), kind, account, now=now, seconds=seconds
        )
        name = kept.id.hex()
        detail: dict[str, object] = {"outcome": "ok", "kind": kind, "owner": owner}
        row = AuditRow(at=now, who="rookery fleet", what="code.make", target=name, detail=detail)
        await AuditTrail(database).add(row)
    if output.json:
        shown = {"id": name, "kind": kind, "code": made, "expires_at": kept.expires_at}
        print_json({**shown, "owner": owner})
    else:
        print(made, flush=True)
    return OK


async def _account(database: "Database", login: str) -> int:
    from rookery.store.accounts.accounts import Accounts
    from rookery.web.accounts.names import normalised_login

    account = await Accounts(database).find(normalised_login(login))
    if account is None:
        raise UsageError(f"there is no account {login}; see: rookery fleet account list")
    return account.id
