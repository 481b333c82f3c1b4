"""Spools that a verb of the lake is given: by the folder of a hub or node, or of the spool."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli.terminal import units
from rookery.cli.terminal.screen import print_json, remark
from rookery.errors import UsageError

if TYPE_CHECKING:
    from rookery.lake.engine.delta import Lake
    from rookery.lake.landing.lander import Lander, LandingTotals

Spools = Annotated[
    tuple[Path, ...],
    Parameter(
        name="--spool",
        negative="",
        show_default=False,
        help="Folder of a hub or node whose spool is landed; repeat for more.",
    ),
]


def landers(lake: "Lake", folders: Sequence[Path], *, is_json: bool) -> list["Lander"]:
    """One for each spool; UsageError where there is none."""
    from rookery.lake.landing.lander import Lander
    from rookery.store.spool.name import SPOOL, spool_name

    found = []
    for folder in folders:
        data = folder.parent if folder.name == SPOOL and not (folder / SPOOL).is_dir() else folder
        if not (data / SPOOL).is_dir():
            raise UsageError(f"there is no spool in {folder}; give the folder of a hub or node")
        name = spool_name(data)
        lander = Lander(lake, data / SPOOL, name, progress=_progress(name, is_json=is_json))
        found.append(lander)
    return found


def _progress(name: str, *, is_json: bool) -> "Callable[[LandingTotals], None]":
    def show(totals: "LandingTotals") -> None:
        left = max(totals.until - totals.position, 0)
        if is_json:
            values = {"rows": totals.rows, "refused": totals.quarantined}
            print_json({"is": "landed", "spool": name, **values, "left_bytes": left})
        else:
            quarantined = f", {totals.quarantined} refused" if totals.quarantined else ""
            remark(f"landed {totals.rows} rows of {name}{quarantined}; {units.size(left)} left")

    return show
