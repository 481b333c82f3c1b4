"""Insights: what facts mean: availability, traffic, quality, what breaks, what is to come."""

import pyarrow as pa

from rookery.lake.schema.table import Column, Table

LINEAGE = Column(
    "lineage",
    pa.struct([("run", pa.string()), ("inputs", pa.string()), ("code", pa.string())]),
    "the run that made the row, the versions of its inputs, the version of rookery",
)

TABLES: tuple[Table, ...] = ()
