"""The Spark session: embedded by default, a cluster's by its address, the same code for all.

    local[*]        in a JVM of this process, that listens to this machine only
    spark://…       this process drives, the cluster's workers work
    sc://…          Spark Connect: a server drives, this process only says what it wants

What the JVM has to say goes to a file, so that a terminal shows the work and not its machinery.
"""

import logging
import os
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rookery.errors import UnreachableError, UsageError
from rookery.lake import java

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
    # What all steps are compiled to: else each run compiles it anew, and the JVM starts over.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # A committer that moves files once: nobody reads them before the Delta log names them.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
# Spark makes one method of a stage, and the JVM never compiles long ones unless told to.
_COMPILED = "-XX:-DontCompileHugeMethods"
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_CONNECT_PORT = 15002
_KNOCK_S = 10.0
_HERE = ("local", "spark://127.0.0.1:", "spark://localhost:")
_STATIC = ("spark.sql.warehouse.dir",)


def start(
    master: str = EMBEDDED,
    *,
    name: str = "rookery lake",
    memory: str = MEMORY,
    settings: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> SparkSession:
    """A session on a master, or over Spark Connect; the JVM's own words go to `log`."""
    chosen = dict(settings or {})
    if master.startswith("sc://"):
        return _connected(master, name, chosen)
    defaults = _SQL | _DRIVER | _java() | {"spark.driver.memory": memory}
    if master.startswith("local"):
        defaults |= _local()
    if master.startswith(_HERE):
        defaults |= _LOOPBACK
    conf = SparkConf().setMaster(master).setAppName(name).setAll(list((defaults | chosen).items()))
    if SparkSession.getActiveSession() is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        _launch(conf, log)
    return SparkSession.builder.config(conf=conf).getOrCreate()


def submitted(name: str = "rookery lake") -> SparkSession:
    """The session that spark-submit or a notebook's server has prepared: its master stays."""
    builder = SparkSession.builder.appName(name)
    for key, value in _SQL.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def log_file() -> Path:
    """Where a session's JVM writes unless told otherwise."""
    return Path(tempfile.gettempdir()) / f"rookery-spark-{os.getpid()}.log"


def _connected(master: str, name: str, settings: Mapping[str, str]) -> SparkSession:
    """Settings of the server are its operator's; only the session's own are set."""
    # What it would write to stderr, as JSON of many kilobytes, is in the error as well.
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
    _knock(master)
    builder = SparkSession.builder.remote(master).appName(name)
    own = {key: settings[key] for key in settings if key.startswith("spark.sql.")}
    for key, value in (_SQL | own).items():
        if key not in _STATIC:
            builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except ImportError as error:
        raise UsageError(f"Spark Connect needs `pip install rookery[connect]`: {error}") from error
    except PySparkException as error:
        raise UnreachableError(f"{master} does not answer: {error}") from error


def _knock(master: str) -> None:
    """Spark's client would try again and again for minutes, and not say why."""
    address = urlsplit(master)
    try:
        place = (address.hostname or "", address.port or _CONNECT_PORT)
        socket.create_connection(place, _KNOCK_S).close()
    except (OSError, ValueError) as error:
        raise UnreachableError(f"{master} does not answer: {error}") from error


def _launch(conf: SparkConf, log: Path | None) -> None:
    """Start the JVM with a Java that is new enough, and its words in a file."""
    from pyspark.java_gateway import launch_gateway

    os.environ.update(java.environment(java.find()))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Else Spark looks for an address to be known by, and takes one that others can reach.
    if conf.get("spark.driver.host") == _LOOPBACK["spark.driver.host"]:
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK["spark.driver.host"])
    path = log or log_file()
    with _own(path) as sink:
        try:
            gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
            SparkContext(conf=conf, gateway=gateway)
        except PySparkException as error:
            raise UsageError(f"Spark does not start; {path} says why") from error


def _own(path: Path) -> BinaryIO:
    """In a folder where others write, its name may have been made to lead elsewhere."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.fdopen(os.open(path, flags, 0o600), "ab")
    except OSError as error:
        raise UsageError(f"Spark has nowhere to write its log: {error}") from error


def _java() -> dict[str, str]:
    """Which collector suits the workers of a cluster, those who run them know."""
    return {
        "spark.driver.extraJavaOptions": " ".join((_COMPILED, *java.collector(os.environ))),
        "spark.executor.extraJavaOptions": _COMPILED,
    }


def _local() -> dict[str, str]:
    return {
        # Enough for the largest tables; those of small ones are put together when they are read.
        "spark.sql.shuffle.partitions": str(16 * (os.cpu_count() or 1)),
        # To look for files on a disk is quicker than a job that does so.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    }
