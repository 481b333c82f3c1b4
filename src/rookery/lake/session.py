"""The Spark session: embedded by default, a cluster's by its address, the same code for both."""

import os
import sys

from pyspark.sql import SparkSession

from rookery.lake import java

EMBEDDED = "local[*]"

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    # A committer that moves files once: nobody reads them before the Delta log names them.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_EMBEDDED_SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def start(
    master: str = EMBEDDED, *, name: str = "rookery lake", settings: dict[str, str] | None = None
) -> SparkSession:
    """A session on a master (`local[*]`, `spark://…`), or over Spark Connect (`sc://…`)."""
    if master.startswith("sc://"):
        builder = SparkSession.builder.remote(master)
        chosen = {}
    else:
        os.environ["JAVA_HOME"] = str(java.find().home)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(master)
        chosen = _SETTINGS | _shuffle() | (_EMBEDDED_SETTINGS if _is_local(master) else {})
    for key, value in (chosen | (settings or {})).items():
        builder = builder.config(key, value)
    return builder.appName(name).getOrCreate()


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _shuffle() -> dict[str, str]:
    """Few and large partitions: on one machine each costs more than it brings."""
    return {"spark.sql.shuffle.partitions": str(max(2, 2 * (os.cpu_count() or 1)))}
