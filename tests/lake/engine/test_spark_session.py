"""Sessions: quiet, local, and clear about what is missing (P1)."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from rookery.errors import UnreachableError
from rookery.lake.engine import spark_session
from tests.lake.spark_processes import HERE
from tests.patience import PATIENCE_S
from tests.ports import free_port

pytestmark = pytest.mark.xdist_group("spark")

IS_EMBEDDED_ONLY = "asks what only an embedded session knows"


def test_settings_do_not_depend_on_the_machine(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MICROS"


def test_an_embedded_session_listens_to_this_machine_only(spark: SparkSession) -> None:
    """Its JVM listens on loopback alone."""
    if spark.conf.get("spark.master", "") != "local[2]":
        pytest.skip(IS_EMBEDDED_ONLY)
    listening = [
        connection
        for child in psutil.Process().children(recursive=True)
        if "java" in child.name()
        for connection in child.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    for each in listening:
        assert each.laddr.ip.removeprefix("::ffff:") in {HERE, "::1"}, each


def test_the_environment_leaves_a_session_enough_room_for_code(spark: SparkSession) -> None:
    """With one compiler alone, as here, a JVM would fill what it reserves within one run."""
    if spark.conf.get("spark.master", "") != "local[2]":
        pytest.skip(IS_EMBEDDED_ONLY)
    assert "TieredStopAtLevel=1" in os.environ["JDK_JAVA_OPTIONS"]
    jvm = spark._jvm
    assert jvm is not None
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    code = [pool.getUsage().getMax() for pool in pools if pool.getName().startswith("Code")]
    assert sum(code) >= 200 << 20


def test_a_server_that_is_not_there_is_named() -> None:
    for address in (f"sc://{HERE}:{free_port()}", f"sc://{HERE}:no-port"):
        with pytest.raises(UnreachableError, match=f"{address} does not answer"):
            spark_session.start(address)


def test_a_log_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    """Its usual place is a folder where others can write."""
    elsewhere, log = tmp_path / "precious", tmp_path / "spark.log"
    elsewhere.write_text("as it was")
    log.symlink_to(elsewhere)
    code = "import pathlib, sys; from rookery.lake.engine import spark_session as s; "
    code += "s.start(log=pathlib.Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, log],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "UsageError: Spark has nowhere to write its log" in done.stderr
    assert elsewhere.read_text() == "as it was"
