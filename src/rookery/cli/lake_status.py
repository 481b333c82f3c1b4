"""`rookery lake status`: the tables that there are, by their logs alone."""

from datetime import UTC, datetime

from rookery.cli import figures
from rookery.cli.exits import OK
from rookery.cli.lake_options import PLACE, Place, open_lake
from rookery.cli.options import OUTPUT, Output
from rookery.cli.screen import print_json, print_table, remark


def status(*, place: Place = PLACE, output: Output = OUTPUT) -> int:
    lake = open_lake(place)
    from rookery.lake.status import lake_status

    found = lake_status(lake)
    now = datetime.now(UTC)
    if output.json:
        for each in found:
            print_json(
                {
                    "table": each.table.path,
                    "version": each.version,
                    "rows": each.rows,
                    "files": each.files,
                    "bytes": each.size,
                    "changed_at": each.changed_at.isoformat(),
                    "first": each.first or None,
                    "last": each.last or None,
                    "behind": list(each.behind),
                }
            )
        return OK
    columns = ("table", "rows", "files", "size", "days", "version", "changed", "has not taken in")
    rows = [
        (
            each.table.path,
            f"{each.rows:,}",
            str(each.files),
            figures.size(each.size),
            f"{each.first} – {each.last}" if each.first else "",
            str(each.version),
            f"{figures.span(max((now - each.changed_at).total_seconds(), 0))} ago",
            ", ".join(each.behind),
        )
        for each in found
    ]
    print_table(columns, rows)
    if any(each.behind for each in found):
        remark("some tables are behind: rookery lake run")
    return OK
