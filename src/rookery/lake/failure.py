"""Failure: what Spark raises when work cannot be done, and what of it a person wants to read."""

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

# Embedded, Spark hands through what the JVM raised in the middle of a job.
SPARK_FAILURES = (PySparkException, Py4JError)

_CAUSE = "Caused by: "


def line(error: Exception) -> str:
    """What went wrong, without the stack: the innermost cause, where one is told."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    causes = [each.removeprefix(_CAUSE) for each in lines if each.startswith(_CAUSE)]
    if isinstance(error, Py4JError) and causes:
        return causes[-1]
    return lines[0]
