"""The catalogue: every table there is, stage by stage."""

from rookery.lake.schema import clean, facts, insights, landing, quarantine
from rookery.lake.schema.table import Table

TABLES: tuple[Table, ...] = (
    *landing.TABLES,
    *quarantine.TABLES,
    *clean.TABLES,
    *facts.TABLES,
    *insights.TABLES,
)

BY_PATH = {table.path: table for table in TABLES}
