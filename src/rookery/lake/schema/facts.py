"""Facts: what follows from clean observations without judging: rates, intervals, edges, hours."""

from rookery.lake.schema.table import Table

TABLES: tuple[Table, ...] = ()
