"""Puts a history into the landing tables of a lake, as its lander would have done."""

from collections import Counter
from collections.abc import Callable

from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.schema.landing import DEVICE_REPORTS
from rookery.lake.schema.table import Table
from rookery.lake.synthetic.dataset import SyntheticDataset

RowsCallback = Callable[[Table, int], None]


def land(
    dataset: SyntheticDataset, lake: Lake, on_rows: RowsCallback | None = None
) -> Counter[str]:
    """Rows that were new, by table; what landed before is passed over, so that it may go on."""
    rows_of: Counter[str] = Counter()
    number: Counter[str] = Counter()
    source = _source(dataset)
    for table, rows in dataset.chunks():
        number[table.path] += 1
        until, since = number[table.path], lake.ingested_version(table, source)
        if since is not None and since >= until:
            continue
        lake.append(
            table, rows, [CommitClaim(source, since, until)], {"history": str(dataset.seed)}
        )
        rows_of[table.name] += rows.num_rows
        if on_rows is not None:
            on_rows(table, rows.num_rows)
    return rows_of


def is_alone(dataset: SyntheticDataset, lake: Lake) -> bool:
    """Whether no other device reports landed there."""
    is_there = lake.version(DEVICE_REPORTS) is not None
    return not is_there or lake.ingested_version(DEVICE_REPORTS, _source(dataset)) is not None


def _source(dataset: SyntheticDataset) -> str:
    size = f"{dataset.days}x{dataset.devices}/{dataset.interval_s}"
    return f"history {dataset.seed} {dataset.start.isoformat()} {size}"
