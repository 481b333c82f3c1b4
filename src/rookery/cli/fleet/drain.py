"""`rookery fleet drain`: a server that gets no new sessions, so that it can be stopped later.

Sessions there go on until they end by themselves. All hubs of the database heed it in a second.
"""

import time
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.fleet.hub_database import DATABASE_OPTIONS, HubDatabaseOptions, hub_database
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, print_table, remark
from rookery.errors import UsageError
from rookery.identity.hashname import is_hashname

_ACTOR = "rookery fleet"


def drain(
    hashname: Annotated[
        str | None, Parameter(name="HASHNAME", help="Of the server; see its first line of output.")
    ] = None,
    /,
    *,
    undo: Annotated[
        bool,
        Parameter(name="--undo", negative="", show_default=False, help="Have it serve again."),
    ] = False,
    shown: Annotated[
        bool,
        Parameter(name="--list", negative="", show_default=False, help="List those drained."),
    ] = False,
    store: HubDatabaseOptions = DATABASE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if shown:
        if hashname is not None or undo:
            raise UsageError("--list goes with nothing else")
        return run_verb(_list(store, output))
    if hashname is None or not is_hashname(hashname):
        raise UsageError("give the server's hashname of 52 characters, or --list")
    return run_verb(_drain(hashname, store, output, is_undone=undo))


async def _drain(
    hashname: str, store: HubDatabaseOptions, output: Output, *, is_undone: bool
) -> int:
    async with hub_database(store) as database:
        from rookery.store.accounts.audit import AuditRow, AuditTrail
        from rookery.store.hubs.drains import Drains

        now, drains = time.time(), Drains(database)
        if not is_undone:
            await drains.begin(hashname, _ACTOR, now=now)
        elif not await drains.end(hashname):
            raise UsageError(f"{hashname} is not being drained; see: rookery fleet drain --list")
        what = "server.undrain" if is_undone else "server.drain"
        row = AuditRow(at=now, who=_ACTOR, what=what, target=hashname, detail={"outcome": "ok"})
        await AuditTrail(database).add(row)
    if output.json:
        print_json({"hashname": hashname, "is_draining": not is_undone})
    else:
        remark(
            "it serves again" if is_undone else "it gets no new sessions; those there are may stay"
        )
    return OK


async def _list(store: HubDatabaseOptions, output: Output) -> int:
    async with hub_database(store) as database:
        from rookery.store.hubs.drains import Drains

        drained = sorted((await Drains(database).all()).items())
    if output.json:
        for name, each in drained:
            print_json({"hashname": name, "since": each.since, "who": each.who})
    else:
        rows = [(name, _moment(each.since), each.who) for name, each in drained]
        print_table(("server", "since", "by"), rows)
    return OK


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
