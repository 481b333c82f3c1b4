"""The Spark session: embedded by default, a cluster's by its address, the same code for all.

    local[*]        in a JVM of this process, that listens to this machine only
    spark://…       this process drives, the cluster's workers work
    sc://…          Spark Connect: a server drives, this process sends plans

The output of the JVM goes to a file, so that the terminal shows progress only.
"""

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rookery.errors import UnreachableError, UsageError
from rookery.lake.engine import hadoop_permissions, java

EMBEDDED = "local[*]"
MEMORY = "2g"  # of the JVM that drives: bounds it, and what does not fit goes to disk

# These a session over Spark Connect can set as well.
_SQL = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    # Rows of so many days are written side by side; only beyond that are they sorted by day first.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    # What a task sorts or adds up should fit its share of the heap.
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "32m",
    "spark.sql.broadcastTimeout": "3600",
    # Rows go between Spark and Python as Arrow.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_DRIVER = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Finished jobs are not looked at, except for a step's last ones, and plans are long texts.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "20",
    # Plans are written down for a page that is off; in full that takes a twentieth of a small run.
    "spark.sql.ui.explainMode": "simple",
    # What all steps are compiled to: else each run compiles it anew, and the JVM starts over.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # A committer that moves files once: nobody reads them before the Delta log names them.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
# Spark makes one method of a stage, and the JVM never compiles long ones unless told to.
_COMPILE_LONG_METHODS = "-XX:-DontCompileHugeMethods"
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_CONNECT_PORT = 15002
_LOG_READ_MAX = 64 << 10
_FAILURE_LINE = re.compile(r"[Ee]rror|Exception|Invalid|Unrecognized")
_END_S = 20.0  # for a JVM to end in good order
_CONNECT_TIMEOUT_S = 10.0
_LOOPBACK_MASTERS = ("local", "spark://127.0.0.1:", "spark://localhost:")
_log = logging.getLogger(__name__)
_STATIC = ("spark.sql.warehouse.dir",)


def start(
    master: str = EMBEDDED,
    *,
    name: str = "rookery lake",
    memory: str = MEMORY,
    settings: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> SparkSession:
    """A session on a master, or over Spark Connect; the JVM's output goes to `log`."""
    chosen = dict(settings or {})
    if master.startswith("sc://"):
        return _connected(master, name, chosen)
    defaults = _SQL | _DRIVER | _java() | {"spark.driver.memory": memory}
    if master.startswith("local"):
        defaults |= _local()
    if master.startswith(_LOOPBACK_MASTERS):
        defaults |= _LOOPBACK
    conf = SparkConf().setMaster(master).setAppName(name).setAll(list((defaults | chosen).items()))
    if SparkSession.getActiveSession() is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        _launch(conf, log)
    return SparkSession.builder.config(conf=conf).getOrCreate()


def submitted_session(name: str = "rookery lake") -> SparkSession:
    """The session that spark-submit or a notebook's server has prepared: its master stays."""
    builder = SparkSession.builder.appName(name)
    for key, value in _SQL.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def log_file() -> Path:
    """Where a session's JVM writes unless told otherwise."""
    return Path(tempfile.gettempdir()).absolute() / f"rookery-spark-{os.getpid()}.log"


def open_log(path: Path) -> BinaryIO:
    """Open for appending, no symbolic link: others may write to the folder, too."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.fdopen(os.open(path, flags, 0o600), "ab")
    except OSError as error:
        raise UsageError(f"Spark has nowhere to write its log: {error}") from error


def exit_text(within_s: float = 0.0) -> str:
    """How the JVM of this process ended, in a few words; empty while it runs, or without one.

    A killed JVM stops answering some time before its process is gone.
    """
    process = _jvm()
    if process is None:
        return ""
    try:
        code = process.wait(within_s)
    except subprocess.TimeoutExpired:
        return ""
    with suppress(ValueError):
        return f"Spark's JVM was ended by {signal.Signals(-code).name}"
    return f"Spark's JVM ended with exit code {code}"


def end(spark: SparkSession) -> None:
    """A session and its JVM, in good order where that is possible."""
    if not exit_text():
        with suppress(Py4JError, PySparkException, OSError):
            spark.stop()
    abandon()


def abandon() -> None:
    """Drop a JVM that may not answer any more, without calling it; `start` launches a new one.

    Spark's own `stop` calls the JVM first, and leaves all of this as it was if that fails.
    """
    process, gateway, context = _jvm(), SparkContext._gateway, SparkContext._active_spark_context
    if process is None or gateway is None:
        return
    if context is not None and getattr(context, "_accumulatorServer", None) is not None:
        context._accumulatorServer.shutdown()
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    _reap(process)
    gateway.shutdown()


def _jvm() -> "subprocess.Popen[bytes] | None":
    """None where others started it, or it is a server's."""
    return getattr(SparkContext._gateway, "proc", None)


def _reap(process: "subprocess.Popen[bytes]") -> None:
    """Close its input, upon which it ends; kill it if it does not."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _connected(master: str, name: str, settings: Mapping[str, str]) -> SparkSession:
    """Settings of the server are its operator's; only the session's own are set."""
    # What it would write to stderr, as JSON of many kilobytes, is in the error as well.
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
    _check_reachable(master)
    builder = SparkSession.builder.remote(master).appName(name)
    own = {key: settings[key] for key in settings if key.startswith("spark.sql.")}
    for key, value in (_SQL | own).items():
        if key not in _STATIC:
            builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except ImportError as error:
        raise UsageError(
            f"Spark Connect needs more: pip install 'rookery[connect]' ({error})"
        ) from error
    except PySparkException as error:
        raise UnreachableError(f"{master} does not answer: {error}") from error


def _check_reachable(master: str) -> None:
    """Connect once: Spark's client would retry for minutes and not say why."""
    address = urlsplit(master)
    try:
        place = (address.hostname or "", address.port or _CONNECT_PORT)
        socket.create_connection(place, _CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError) as error:
        raise UnreachableError(f"{master} does not answer: {error}") from error


def _launch(conf: SparkConf, log: Path | None) -> None:
    """Start the JVM with a Java that is new enough, and its output in a file."""
    from pyspark.java_gateway import launch_gateway

    os.environ.update(java.environment(java.find()))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Else Spark looks for an address of its own and takes one that other machines can reach.
    if conf.get("spark.driver.host") == _LOOPBACK["spark.driver.host"]:
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK["spark.driver.host"])
    path = log or log_file()
    with open_log(path) as sink:
        begin = sink.tell()
        try:
            gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
            hadoop_permissions.install(gateway.jvm)
            context = SparkContext(conf=conf, gateway=gateway)
        except PySparkException as error:
            raise UsageError(f"it does not start: {_log_reason(path, begin)}") from error
    # It would print a stack trace when the JVM is gone; that is reported elsewhere.
    context._accumulatorServer.handle_error = _log_accumulator_error  # type: ignore[method-assign]


def _log_accumulator_error(request: object, client_address: object) -> None:
    _log.debug("Spark's accumulators: %s", client_address, exc_info=True)


def _log_reason(path: Path, begin: int) -> str:
    """The line of a log that says why, as far as one can tell."""
    with path.open(errors="replace") as log:
        log.seek(begin)
        lines = [line.strip() for line in log.read(_LOG_READ_MAX).splitlines() if line.strip()]
    why = (line for line in lines if _FAILURE_LINE.search(line))
    return next(why, lines[-1] if lines else "without a word")


def _java() -> dict[str, str]:
    """JVM options. The collector of a cluster's workers is left to its operators.

    JDK_JAVA_OPTIONS and JAVA_TOOL_OPTIONS come before them on the command line, so that these win.
    """
    options = (_COMPILE_LONG_METHODS, *java.MEMORY_OPTIONS, *java.collector(os.environ))
    return {
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.executor.extraJavaOptions": " ".join((_COMPILE_LONG_METHODS, *java.MEMORY_OPTIONS)),
    }


def _local() -> dict[str, str]:
    return {
        # Enough for the largest tables; those of small ones are put together when they are read.
        "spark.sql.shuffle.partitions": str(16 * (os.cpu_count() or 1)),
        # To look for files on a disk is quicker than a job that does so.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    }
