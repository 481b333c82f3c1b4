"""What of Spark's words a person gets to read."""

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

from rookery.lake import failure


def test_the_innermost_cause_is_told_in_one_line() -> None:
    said = (
        "An error occurred while calling o1.parquet.\n: Job aborted.\n\tat some.Class\n"
        "Caused by: Task failed\n\tat another.Class\nCaused by: No space left on device\n\tat x"
    )
    assert failure.line(Py4JError(said)) == "No space left on device"


def test_an_error_that_begins_with_what_matters_keeps_its_beginning() -> None:
    assert failure.line(AnalysisException("[NO_COLUMN] no x\nCaused by: y")) == "[NO_COLUMN] no x"
    assert failure.line(OSError()) == "OSError"
