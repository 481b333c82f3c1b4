"""Batch: a day's rows of one kind, before they are put into the order of arrival."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rookery.lake.schema.table import Table
from rookery.lake.synthetic.columns import SpoolPositions, landing_rows
from rookery.lake.synthetic.noise import Flags, Ints, below, noise, share

_CHANNEL = 40
_REPEAT_MS_MAX = 1 << 16


@dataclass(frozen=True, kw_only=True)
class SyntheticBatch:
    """Columns of the same length."""

    table: Table
    names: Sequence[str]  # of spools
    spool: Ints
    received_ms: Ints
    sender: pa.Array
    boot: Ints | None = None  # None: observed by the hub itself, without boot and sequence
    sequence: Ints | None = None
    at_ms: Ints | None = None
    columns: dict[str, pa.Array]

    def __len__(self) -> int:
        return len(self.spool)

    def repeated(self, seed: int, share_of_rows: float) -> Ints:
        """Rows that are sent twice; only numbered ones are."""
        if self.sequence is None:
            return np.zeros(0, dtype=np.int64)
        bits = noise(seed, _CHANNEL, self.received_ms + self.sequence)
        found: Ints = np.nonzero(share(bits, 0) < share_of_rows)[0]
        return found

    def rows(self, spools: SpoolPositions, seed: int, share_of_rows: float) -> pa.Table:
        """Landing rows, with repeats, in order of arrival."""
        again = self.repeated(seed, share_of_rows)
        delay_ms = 1 + below(noise(seed, _CHANNEL + 1, self.received_ms[again]), 0, _REPEAT_MS_MAX)
        index = np.concatenate([np.arange(len(self)), again])
        is_again: Flags = np.arange(len(index)) >= len(self)
        received_ms = self.received_ms[index]
        received_ms[is_again] += delay_ms
        spool = (self.spool[index] + is_again) % len(self.names)
        order = np.argsort(received_ms, kind="stable")
        taken = index[order]
        positions = pa.array(taken)
        return landing_rows(
            self.table,
            spools,
            self.names,
            spool=spool[order],
            received_ms=received_ms[order],
            sender=self.sender.take(positions),
            boot=None if self.boot is None else self.boot[taken],
            sequence=None if self.sequence is None else self.sequence[taken],
            at_ms=None if self.at_ms is None else self.at_ms[taken],
            columns={name: column.take(positions) for name, column in self.columns.items()},
        )


def latency_ms(seed: int, channel: int, numbers: Ints) -> Ints:
    """From an event to its reception by the hub or node that records it."""
    return 5 + below(noise(seed, channel, numbers), 3, 200)
