"""`rookery lake land`: spools into landing tables, without a JVM."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli.lake.options import LAKE_OPTIONS, LakeOptions, open_lake
from rookery.cli.lake.signals import repeated, until_signal
from rookery.cli.lake.spools import Spools, landers
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, remark
from rookery.errors import UsageError


def land(
    *,
    spool: Spools = (),
    follow: Annotated[
        bool, Parameter(name="--follow", negative="", help="Again and again, until stopped.")
    ] = False,
    every: Annotated[
        str, Parameter(name="--every", help="How long to wait in between, with --follow.")
    ] = "60s",
    lake_options: LakeOptions = LAKE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if not spool:
        raise UsageError("give at least one --spool: the folder of a hub or node")
    pause_s = units.parse_span(every)
    found = landers(open_lake(lake_options, must_exist=False), spool, is_json=output.json)

    def once() -> int:
        done = [lander.run() for lander in found]
        rows, quarantined = sum(each.rows for each in done), sum(each.quarantined for each in done)
        if output.json:
            print_json({"is": "done", "rows": rows, "refused": quarantined, "spools": len(done)})
        elif rows or quarantined or not follow:
            remark(f"{rows} rows landed, {quarantined} refused")
        return OK

    pause = pause_s if follow else None
    return until_signal(lambda: repeated(once, pause), is_service=follow)
