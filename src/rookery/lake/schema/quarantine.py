"""The quarantine table: observations that are not valid, whole, with the reason."""

import pyarrow as pa

from rookery.lake.schema.table import DATE, TIMESTAMP, Column, Table

OBSERVATIONS = Table(
    "quarantine",
    "observations",
    (
        Column("spool", pa.string(), "name of the spool that kept it"),
        Column("position", pa.int64(), "its end in that spool", "bytes"),
        Column("received_at", TIMESTAMP, "when the hub or node received it"),
        Column("kind", pa.string(), "landing table it was meant for, or its number"),
        Column("reporter", pa.string(), "the sender"),
        Column("reason", pa.string(), "what is wrong with it"),
        Column("content", pa.binary(), "as it came, or the row as JSON"),
        Column("source", pa.string(), "the spool, or the file in landing"),
        Column(DATE, pa.date32(), "UTC date of received_at, or of the run where that is unknown"),
    ),
    ("source", "position", "reason"),
    "observations that are not counted anywhere else",
)

TABLES = (OBSERVATIONS,)
