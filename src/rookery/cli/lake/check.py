"""`rookery lake check`: whether every landed row is in a clean table or in quarantine, once."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rookery.cli.lake.options import LAKE_OPTIONS, LakeOptions, open_lake
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import FAILED, OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json, print_table, remark

if TYPE_CHECKING:
    from rookery.lake.query.check import LakeCheckReport


def check(*, lake_options: LakeOptions = LAKE_OPTIONS, output: Output = OUTPUT) -> int:
    lake = open_lake(lake_options)
    from rookery.lake.query.check import check as counted

    report = counted(lake)
    if output.json:
        print_json(_json(report))
    else:
        _print(report)
    return OK if report.is_ok else FAILED


def _print(report: "LakeCheckReport") -> None:
    columns = ("kind", "landed", "clean", "repeats", "set aside", "unreadable", "waiting", "")
    rows = [
        (
            each.kind,
            *(f"{n:,}" for n in (each.landed, each.clean, each.repeats, each.set_aside)),
            *(f"{n:,}" for n in (each.unreadable, each.waiting)),
            "adds up" if each.is_ok else f"{each.missing} missing, {each.doubled} doubled",
        )
        for each in report.cleaned
    ]
    print_table(columns, rows)
    if report.summed:
        sums = [
            (each.table, f"{each.counted:,}", each.source, f"{each.rows:,}", _ok_text(each.is_ok))
            for each in report.summed
        ]
        print_table(("facts", "made of", "rows of", "rows", ""), sums)
    if report.quarantined:
        quarantined = [(each.kind, each.reason, f"{each.rows:,}") for each in report.quarantined]
        print_table(("in quarantine", "reason", "rows"), quarantined)
    now = datetime.now(UTC)
    print_fields(
        [
            ("newest landed", _age(report.landed_at, now)),
            ("newest clean", _age(report.happened_at, now)),
        ]
    )
    remark("it adds up" if report.is_ok else "it does not add up")


def _ok_text(is_ok: bool) -> str:
    return "adds up" if is_ok else "differs"


def _age(time: datetime | None, now: datetime) -> str:
    if time is None:
        return units.UNKNOWN
    return f"{time:%Y-%m-%d %H:%M:%S} UTC, {units.span(max((now - time).total_seconds(), 0))} ago"


def _json(report: "LakeCheckReport") -> dict[str, object]:
    return {
        "ok": report.is_ok,
        "kinds": [{**each._asdict(), "missing": each.missing} for each in report.cleaned],
        "facts": [each._asdict() for each in report.summed],
        "refused": [each._asdict() for each in report.quarantined],
        "landed_at": None if report.landed_at is None else report.landed_at.isoformat(),
        "happened_at": None if report.happened_at is None else report.happened_at.isoformat(),
    }
