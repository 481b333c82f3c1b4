"""Pipeline: one run through all steps; what the Delta logs say is new, and nothing else."""

from collections.abc import Callable, Sequence
from datetime import date

from rookery.lake.progress import Progress, RunReport
from rookery.lake.spark_tables import SparkTables
from rookery.lake.step import AnyStep


class Pipeline:
    """Steps over the tables of a lake."""

    def __init__(
        self,
        tables: SparkTables,
        steps: Sequence[AnyStep],
        on_progress: Callable[[Progress], None] = lambda event: None,
    ) -> None:
        self._tables = tables
        self._steps = steps
        self._on_progress = on_progress

    def run(self) -> RunReport:
        """Take in what is new."""
        raise NotImplementedError

    def backfill(self, first: date, last: date) -> RunReport:
        """Compute all tables of some days anew, whether their sources changed or not."""
        raise NotImplementedError
