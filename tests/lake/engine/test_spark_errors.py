"""What of Spark's words a person gets to read."""

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException

from rookery.errors import LocalError
from rookery.lake.engine import spark_errors

CALL = "An error occurred while calling o1.parquet.\n"


def test_the_innermost_cause_is_one_line() -> None:
    said = (
        f"{CALL}: org.apache.spark.SparkException: Job aborted.\n\tat some.Class\n"
        "Caused by: Task failed\n\tat another.Class\n"
        "Caused by: java.io.IOException: No space left on device\n\tat x"
    )
    assert (
        spark_errors.error_line(Py4JError(said)) == "java.io.IOException: No space left on device"
    )


def test_an_error_without_a_cause_is_named_by_its_class_and_not_by_the_call() -> None:
    said = f"{CALL}: java.lang.InternalError: no room\n\tat some.Class"
    assert spark_errors.error_line(Py4JError(said)) == "java.lang.InternalError: no room"


def test_an_error_that_begins_with_what_matters_keeps_its_beginning() -> None:
    refused = AnalysisException("[NO_COLUMN] no x\nCaused by: y")
    assert spark_errors.error_line(refused) == "AnalysisException: [NO_COLUMN] no x"
    assert spark_errors.error_line(OSError()) == "OSError"
    assert (
        spark_errors.error_line(LocalError("clean/calls cannot be read\n↳"))
        == "clean/calls cannot be read"
    )


def test_a_jvm_that_lacks_room_or_classes_is_not_relied_on_any_more() -> None:
    for name in ("InternalError", "OutOfMemoryError", "NoClassDefFoundError"):
        assert spark_errors.is_lasting(Py4JError(f"{CALL}: java.lang.{name}: x\n\tat y"))
    assert not spark_errors.is_lasting(Py4JError(f"{CALL}: java.io.IOException: No space left"))
    assert not spark_errors.is_lasting(LocalError("java.lang.OutOfMemoryError"))


def test_a_jvm_that_does_not_answer_may_be_about_to_die() -> None:
    assert spark_errors.is_cut_off(ConnectionRefusedError())
    assert spark_errors.is_cut_off(Py4JNetworkError("Answer from Java side is empty"))
    assert not spark_errors.is_cut_off(OSError("No space left on device"))
    assert not spark_errors.is_cut_off(AnalysisException("[NO_COLUMN] no x"))
