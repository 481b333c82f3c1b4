"""Puts a history into the landing tables of a lake, as its lander would have done."""

from collections import Counter
from collections.abc import Callable

from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.schema.landing import DEVICE_REPORTS
from rookery.lake.schema.table import Table
from rookery.lake.synthetic.dataset import SyntheticDataset

LandedCallback = Callable[[Table, int], None]


def land(
    history: SyntheticDataset, lake: Lake, landed: LandedCallback | None = None
) -> Counter[str]:
    """Rows that were new, by table; what landed before is passed over, so that it may go on."""
    rows_of: Counter[str] = Counter()
    number: Counter[str] = Counter()
    source = _source(history)
    for table, rows in history.chunks():
        number[table.path] += 1
        until, since = number[table.path], lake.included(table, source)
        if since is not None and since >= until:
            continue
        lake.append(
            table, rows, [CommitClaim(source, since, until)], {"history": str(history.seed)}
        )
        rows_of[table.name] += rows.num_rows
        if landed is not None:
            landed(table, rows.num_rows)
    return rows_of


def is_alone(history: SyntheticDataset, lake: Lake) -> bool:
    """Whether no other device reports landed there."""
    is_there = lake.version(DEVICE_REPORTS) is not None
    return not is_there or lake.included(DEVICE_REPORTS, _source(history)) is not None


def _source(history: SyntheticDataset) -> str:
    size = f"{history.days}x{history.routers}/{history.interval_s}"
    return f"history {history.seed} {history.start.isoformat()} {size}"
