"""Arrow columns of synthetic landing rows: texts by the million, the common head, spool positions.

Everything here works on whole columns, as a Python loop over millions of rows would take minutes.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rookery.lake.schema.table import TIMESTAMP, Table
from rookery.lake.synthetic.noise import Ints

RECORD_BYTES = 256  # that each record takes in its spool

_DAY_MS = 86_400_000


class FixedWidthTexts:
    """Texts of one length, kept as rows of bytes: many of them are one copy."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        joined = "".join(texts).encode()
        self._rows: NDArray[np.uint8] = np.frombuffer(joined, np.uint8).reshape(len(texts), -1)

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, index: Ints) -> pa.Array:
        data = np.ascontiguousarray(self._rows[index])
        width = self._rows.shape[1]
        offsets = np.arange(0, (len(index) + 1) * width, width, dtype=np.int32)
        return pa.StringArray.from_buffers(len(index), pa.py_buffer(offsets), pa.py_buffer(data))


def texts_at(texts: Sequence[str], index: Ints) -> pa.Array:
    """Of any lengths, for columns that are short."""
    return pa.array(texts, pa.string()).take(pa.array(index))


def timestamps(wall_ms: Ints) -> pa.Array:
    """Of the landing tables' type."""
    return pa.array(wall_ms * 1000, pa.int64()).view(TIMESTAMP)


class SpoolPositions:
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
    spools: SpoolPositions,
    names: Sequence[str],
    *,
    spool: Ints,
    received_ms: Ints,
    sender: pa.Array,
    boot: Ints | None,
    sequence: Ints | None,
    at_ms: Ints | None,
    columns: dict[str, pa.Array],
) -> pa.Table:
    """Rows as the lander writes them, in the order given."""
    nothing = pa.nulls(len(spool), pa.int64())
    head = {
        "spool": texts_at(names, spool),
        "position": pa.array(spools.positions(names, spool)),
        "received_at": timestamps(received_ms),
        "reporter": sender,
        "boot": nothing if boot is None else pa.array(boot),
        "sequence": nothing if sequence is None else pa.array(sequence),
        "at": nothing.view(TIMESTAMP) if at_ms is None else timestamps(at_ms),
        "date": pa.array((received_ms // _DAY_MS).astype(np.int32)).view(pa.date32()),
    }
    values = head | columns
    return pa.table([values[name] for name in table.arrow.names], schema=table.arrow)
