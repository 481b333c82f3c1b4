"""`rookery lake compact` and `vacuum`: the files behind the tables."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli.lake.options import LAKE_OPTIONS, LakeOptions, open_lake
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, print_table, remark

if TYPE_CHECKING:
    from rookery.lake.engine.delta import Lake
    from rookery.lake.schema.table import Stage


def compact(*, lake_options: LakeOptions = LAKE_OPTIONS, output: Output = OUTPUT) -> int:
    lake = open_lake(lake_options)
    from rookery.lake.engine import maintenance

    done = maintenance.compact(lake)
    if output.json:
        for each in done:
            values = {"removed": each.removed, "added": each.added, "left": each.is_left}
            print_json({"table": each.table.path, **values})
        return OK
    changed = [each for each in done if each.removed or each.is_left]
    if changed:
        rows = [
            (
                each.table.path,
                "in use, left as it is" if each.is_left else f"{each.removed} → {each.added}",
            )
            for each in changed
        ]
        print_table(("table", "files"), rows)
    else:
        remark("there is nothing to compact")
    return OK


def vacuum(
    *,
    keep: Annotated[
        str,
        Parameter(
            name="--keep", help="How far back --as-of can go: files replaced before are removed."
        ),
    ] = "7d",
    dry_run: Annotated[
        bool, Parameter(name="--dry-run", negative="", help="Only say what would be removed.")
    ] = False,
    landing_days: Annotated[
        int | None,
        Parameter(name="--landing-days", help="Forget what landed before so many days."),
    ] = None,
    clean_days: Annotated[
        int | None,
        Parameter(name="--clean-days", help="Forget what happened before, in clean and facts."),
    ] = None,
    lake_options: LakeOptions = LAKE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    kept = timedelta(seconds=units.parse_span(keep))
    lake = open_lake(lake_options)
    from rookery.lake.engine import maintenance as upkeep

    if not dry_run:
        _retire(lake, landing_days, clean_days, output)
    done = upkeep.vacuum(lake, keep=kept, is_dry=dry_run)
    if output.json:
        for each in done:
            print_json({"table": each.table.path, "files": len(each.files), "dry": dry_run})
        return OK
    rows = [(each.table.path, str(len(each.files))) for each in done if each.files]
    if rows:
        print_table(("table", "would be removed" if dry_run else "removed"), rows)
    else:
        remark("there is nothing to remove")
    return OK


def _retire(lake: "Lake", landing_days: int | None, clean_days: int | None, output: Output) -> None:
    from rookery.lake.engine import maintenance as upkeep

    keep: dict[Stage, int] = {}
    if landing_days is not None:
        keep |= {"landing": landing_days, "quarantine": landing_days}
    if clean_days is not None:
        keep |= {"clean": clean_days, "facts": clean_days}
    for each in upkeep.retire(lake, keep, datetime.now(UTC).date()) if keep else []:
        if output.json:
            print_json({"table": each.table.path, "forgotten_days": len(each.dates)})
        elif each.dates:
            remark(f"{each.table.path}: {len(each.dates)} days are forgotten")
