"""Heads: the columns that all landing rows begin with, and the places of rows in their spools."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from rookery.lake.history.noise import Ints
from rookery.lake.history.texts import chosen
from rookery.lake.schema.table import TIMESTAMP, Table

RECORD_BYTES = 256  # each record takes that in its spool
_DAY_MS = 86_400_000


def timestamps(wall_ms: Ints) -> pa.Array:
    """Of the landing tables' type."""
    return pa.array(wall_ms * 1000, pa.int64()).view(TIMESTAMP)


class Spools:
    """Hands out positions: behind each other, in the order in which they are asked for."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._ends: dict[str, int] = {}

    def positions(self, names: Sequence[str], spool: Ints) -> Ints:
        positions = np.zeros(len(spool), dtype=np.int64)
        for number in np.unique(spool):
            (mine,) = np.nonzero(spool == number)
            end = self._ends.get(names[number], self._first)
            positions[mine] = end + RECORD_BYTES * np.arange(1, len(mine) + 1)
            self._ends[names[number]] = int(positions[mine[-1]])
        return positions


def landing_rows(
    table: Table,
    spools: Spools,
    names: Sequence[str],
    *,
    spool: Ints,
    received_ms: Ints,
    reporter: pa.Array,
    boot: Ints | None,
    sequence: Ints | None,
    at_ms: Ints | None,
    columns: dict[str, pa.Array],
) -> pa.Table:
    """Rows as the lander writes them, in the order given."""
    nothing = pa.nulls(len(spool), pa.int64())
    head = {
        "spool": chosen(names, spool),
        "position": pa.array(spools.positions(names, spool)),
        "received_at": timestamps(received_ms),
        "reporter": reporter,
        "boot": nothing if boot is None else pa.array(boot),
        "sequence": nothing if sequence is None else pa.array(sequence),
        "at": nothing.view(TIMESTAMP) if at_ms is None else timestamps(at_ms),
        "date": pa.array((received_ms // _DAY_MS).astype(np.int32)).view(pa.date32()),
    }
    values = head | columns
    return pa.table([values[name] for name in table.arrow.names], schema=table.arrow)
