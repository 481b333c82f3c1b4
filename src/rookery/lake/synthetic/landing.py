"""Puts a synthetic dataset into the landing tables of a lake, as the lander would have done."""

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
    """Land what is not there yet, so that an interrupted run may go on; new rows by table."""
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
    """True if the lake has no other device reports."""
    is_there = lake.version(DEVICE_REPORTS) is not None
    return not is_there or lake.ingested_version(DEVICE_REPORTS, _source(dataset)) is not None


def _source(dataset: SyntheticDataset) -> str:
    size = f"{dataset.days}x{dataset.devices}/{dataset.interval_s}"
    return f"history {dataset.seed} {dataset.start.isoformat()} {size}"
