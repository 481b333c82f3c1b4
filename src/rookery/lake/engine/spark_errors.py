"""Spark's exceptions: which there are, their cause as one line, and whether the JVM is lost."""

import re

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from rookery.errors import RookeryError

# Embedded, Spark hands through what the JVM raised in the middle of a job.
SPARK_FAILURES = (PySparkException, Py4JError)

_CAUSE = "Caused by: "
_RAISED = ": "  # in the line behind the one that says which call it was
# After these a JVM answers, and fails at one thing after the other.
_LASTING = re.compile(
    r"java\.lang\.(InternalError|OutOfMemoryError|NoClassDefFoundError|BootstrapMethodError"
    r"|ExceptionInInitializerError|UnsatisfiedLinkError)"
)


def error_line(error: Exception) -> str:
    """What went wrong, without the stack: the innermost cause, or class and first line."""
    lines = str(error).strip().splitlines() or [""]
    if isinstance(error, RookeryError):
        return lines[0] or type(error).__name__
    if isinstance(error, Py4JError):
        for mark in (_CAUSE, _RAISED):
            if causes := [each.removeprefix(mark) for each in lines if each.startswith(mark)]:
                return causes[-1]
    return ": ".join(each for each in (type(error).__name__, lines[0]) if each)


def is_cut_off(error: Exception) -> bool:
    """True if the JVM did not answer, or not to the end: it may be about to end."""
    is_answered = isinstance(error, Py4JJavaError)
    return isinstance(error, (ConnectionError, Py4JError)) and not is_answered


def is_lasting(error: Exception) -> bool:
    """True if the JVM that raised it cannot be relied on any more."""
    return isinstance(error, SPARK_FAILURES) and _LASTING.search(str(error)) is not None
