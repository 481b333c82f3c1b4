"""Table: what is in one of them, said once for Spark, Delta, DuckDB and the dictionary.

Types are Arrow's, which all of them understand. Columns are only ever added, behind the others:
files that lack one read as null there.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import pyarrow as pa

from rookery.lake.schema.display import Display

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

Stage = Literal["landing", "quarantine", "clean", "facts", "insights"]

TIMESTAMP = pa.timestamp("us", "UTC")
DATE = "date"  # the column that tables are partitioned by


class Column(NamedTuple):
    """One column, with what a reader has to know of it."""

    name: str
    type: pa.DataType
    text: str
    unit: str = ""
    is_nullable: bool = True


@dataclass(frozen=True)
class Table:
    """One table; `key` names what no two rows have in common."""

    stage: Stage
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    text: str
    sources: tuple[str, ...] = ()  # paths of the tables it is made from
    is_dated: bool = True  # partitioned by `date`; else replaced as a whole
    concerns_day_before: str = ""  # SQL: which rows also say something about the day before
    display: Display | None = None  # how pages show it; insights have one

    @property
    def path(self) -> str:
        """Where it is below the lake's URL; its name everywhere else, too."""
        return f"{self.stage}/{self.name}"

    @cached_property
    def arrow(self) -> pa.Schema:
        return pa.schema(
            [pa.field(each.name, each.type, nullable=each.is_nullable) for each in self.columns]
        )

    @cached_property
    def struct(self) -> "StructType":
        """For Spark, which is loaded here and not before."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.arrow)

    @property
    def partition(self) -> list[str]:
        return [DATE] if self.is_dated else []
