"""`rookery demo`: small worlds on this machine, and the incidents that can be started in them."""

import logging
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from rookery.cli import extras
from rookery.cli.demo.folder import NAME, DemoFolder, prepared
from rookery.cli.runner import run_service, run_verb
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK, advice
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, print_table, remark
from rookery.errors import UsageError

DAYS = 14
EVERY = "45s"
SCENARIOS = {
    "world": "a fleet at three sites with hub, mesh, sensors and lake; its relay may die",
    "blackout": "the same world, in which a server may die",
    "links": "four endpoints and what runs over their links, told step by step",
}

Scenario = Literal["world", "blackout", "links"]
Folder = Annotated[
    Path, Parameter(name="--folder", help="Everything is in there; an earlier demo's is removed.")
]

app = App(name="demo", help_epilogue="Example:  rookery demo --scenario blackout")


@app.default
def demo(
    *,
    scenario: Annotated[Scenario, Parameter(name="--scenario", help="Which world.")] = "world",
    list_: Annotated[
        bool, Parameter(name="--list", negative="", show_default=False, help="List the scenarios.")
    ] = False,
    days: Annotated[
        int, Parameter(name="--days", help="Of history in the lake; 0 for a world without a lake.")
    ] = DAYS,
    every: Annotated[
        str, Parameter(name="--every", help="The lake's next run is so long after one (45s, 5m).")
    ] = EVERY,
    folder: Folder = NAME,
    keep: Annotated[
        bool,
        Parameter(
            name="--keep",
            negative="",
            show_default=False,
            help="With links: stay, and print bob's link, to be played with until Ctrl-C.",
        ),
    ] = False,
    output: Output = OUTPUT,
) -> int:
    """Bring up a small world on this machine, and a tour of it; Ctrl-C ends it."""
    if list_:
        return _list(output)
    if scenario == "links":
        from rookery.cli.demo.links_scenario import links

        return links(keep=keep, output=output)
    if keep:
        raise UsageError("--keep is for --scenario links; the others stay until Ctrl-C")
    _check(days)
    units.parse_span(every)  # or what is wrong with it
    with prepared(folder) as ready:
        return run_service(_live(ready, scenario, days, every, output))


@app.command(help_epilogue="Example:  rookery demo incident --over")
def incident(
    *,
    over: Annotated[
        bool,
        Parameter(name="--over", negative="", show_default=False, help="End it instead."),
    ] = False,
    folder: Folder = NAME,
    output: Output = OUTPUT,
) -> int:
    """Start the incident of a running demo; with --over, end it."""

    async def work() -> int:
        from rookery.cli.demo.incidents import IncidentCommand, send_command

        notice = await send_command(
            DemoFolder(folder).socket, IncidentCommand("end" if over else "begin")
        )
        if output.json:
            print_json({"text": notice.text, "is_over": notice.is_over})
        else:
            print(notice.text)
        return OK

    return run_verb(work())


@app.command(show=False, help_epilogue="Example:  rookery demo past --days 14")
def past(*, days: int = DAYS, folder: Folder = NAME, output: Output = OUTPUT) -> int:
    """Generate the past of a demo that is being started."""
    from rookery.cli.demo.synthetic_data import land_history

    rows = land_history(DemoFolder(folder), days)
    if output.json:
        print_json({"rows": rows})
    else:
        remark(f"{rows:,} rows of the past")
    return OK


def _list(output: Output) -> int:
    if output.json:
        for name, text in SCENARIOS.items():
            print_json({"scenario": name, "text": text})
    else:
        print_table(("scenario", "what it is"), list(SCENARIOS.items()))
    return OK


def _check(days: int) -> None:
    from rookery.cli.demo.synthetic_data import DAYS_MAX

    if not 0 <= days <= DAYS_MAX:
        raise UsageError(f"--days {days}: give 0 to {DAYS_MAX}")
    with advice("without it there is: rookery demo --scenario links"):
        extras.need("this world", extras.HUB | (extras.PIPELINE if days else {}), "all")
    if days:
        from rookery.lake.engine import java

        with advice("without it there is a world without a lake: rookery demo --days 0"):
            java.find()


async def _live(
    folder: DemoFolder, scenario: Scenario, days: int, every: str, output: Output
) -> int:
    from rookery.cli.demo.printer import DemoPrinter
    from rookery.cli.demo.world import DemoWorld, WorldCallbacks, program

    # What the parts have to say is for those who look for it, and not between the lines of a tour.
    logging.basicConfig(filename=folder.log("world"), format="%(asctime)s %(name)s %(message)s")
    show = DemoPrinter(output)
    callbacks = WorldCallbacks(say=show.say, tour=show.tour, incident=show.incident, lake=show.lake)
    world = DemoWorld(
        folder=folder,
        scenario=scenario,
        days=days,
        every=every,
        program=program(),
        callbacks=callbacks,
    )
    try:
        await world.live()
    except BaseExceptionGroup as group:  # of which people want to know the first only
        raise _first(group) from group
    return OK


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
