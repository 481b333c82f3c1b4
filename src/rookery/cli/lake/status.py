"""`rookery lake status`: the tables that there are, by their logs alone, and the last run."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rookery.cli.lake.options import LAKE_OPTIONS, LakeOptions, open_lake
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, print_table, remark

if TYPE_CHECKING:
    from rookery.lake.engine.run_record import RunRecord


def status(*, lake_options: LakeOptions = LAKE_OPTIONS, output: Output = OUTPUT) -> int:
    lake = open_lake(lake_options)
    from rookery.lake.engine.run_record import read
    from rookery.lake.query.status import lake_status

    found, last = lake_status(lake), read(lake)
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
        if last is not None:
            print_json({"is": "run", **_run_json(last)})
        return OK
    columns = ("table", "rows", "files", "size", "days", "version", "changed", "has not taken in")
    rows = [
        (
            each.table.path,
            f"{each.rows:,}",
            str(each.files),
            units.size(each.size),
            f"{each.first} – {each.last}" if each.first else "",
            str(each.version),
            f"{units.span(max((now - each.changed_at).total_seconds(), 0))} ago",
            ", ".join(each.behind),
        )
        for each in found
    ]
    print_table(columns, rows)
    if any(each.behind for each in found):
        remark("some tables are behind: rookery lake run")
    if last is not None:
        remark(_run_line(last, now.timestamp()))
    return OK


def _run_line(last: "RunRecord", now: float) -> str:
    """`the last run failed 3 min ago: facts/sessions: …; see /tmp/….log on box; …`."""
    ago = units.span(max(now - last.ended_at, 0))
    if last.ok:
        return f"the last run was in order, {ago} ago"
    line = f"the last run failed, {ago} ago: {last.step}: {last.error}; see {last.log}"
    line += f" on {last.host}"
    if last.ok_at is None:
        return f"{line}; none was in order yet"
    return f"{line}; the last one in order ended {units.span(max(now - last.ok_at, 0))} ago"


def _run_json(last: "RunRecord") -> dict[str, object]:
    return {
        "run": last.run or None,
        "ok": last.ok,
        "ended_at": _time(last.ended_at),
        "took_s": last.took_s,
        "step": last.step or None,
        "error": last.error or None,
        "log": last.log or None,
        "host": last.host or None,
        "ok_at": None if last.ok_at is None else _time(last.ok_at),
        "failures": last.failures,
    }


def _time(wall_s: float) -> str:
    return datetime.fromtimestamp(wall_s, UTC).isoformat()
