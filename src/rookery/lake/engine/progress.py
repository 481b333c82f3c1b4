"""Progress and results of a pipeline run."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class StepOutcome(StrEnum):
    """What became of a step."""

    DONE = "done"
    SKIPPED = "skipped"  # nothing was new
    FAILED = "failed"
    CONFLICT = "conflict"  # another driver was faster; nothing is lost or doubled
    BLOCKED = "blocked"  # a step that it builds on failed


class StepStarted(NamedTuple):
    """A step has something to do and begins."""

    step: str  # path of its table
    number: int  # from 1
    steps: int


class StepReport(NamedTuple):
    """A step is over."""

    step: str
    outcome: StepOutcome
    rows_in: int = 0
    rows_out: int = 0
    quarantined: int = 0
    seconds: float = 0.0
    newest: datetime | None = None  # event time, where the step saw it
    text: str = ""  # one line on what went wrong
    is_spark_lost: bool = False  # nothing more can be expected of this session

    @property
    def rows_per_s(self) -> float:
        return self.rows_in / self.seconds if self.seconds else 0.0


Progress = StepStarted | StepReport


class RunReport(NamedTuple):
    """All steps of a run, in their order."""

    run: str
    steps: tuple[StepReport, ...]
    seconds: float
    newest: datetime | None  # the latest event time that the lake knows of

    @property
    def is_ok(self) -> bool:
        return all(each.outcome in {StepOutcome.DONE, StepOutcome.SKIPPED} for each in self.steps)

    @property
    def failed(self) -> StepReport | None:
        """The first step that failed or was in conflict."""
        wrong = (StepOutcome.FAILED, StepOutcome.CONFLICT)
        return next((each for each in self.steps if each.outcome in wrong), None)

    @property
    def is_spark_lost(self) -> bool:
        return any(each.is_spark_lost for each in self.steps)

    @property
    def is_idle(self) -> bool:
        """Nothing was new anywhere."""
        return all(each.outcome is StepOutcome.SKIPPED for each in self.steps)

    def lag_s(self, now: datetime) -> float | None:
        """How far the lake is behind what happens."""
        return None if self.newest is None else (now - self.newest).total_seconds()

    def of(self, step: str) -> StepReport:
        """The report of one step, by its table's path."""
        return next(each for each in self.steps if each.step == step)
