"""With `connect`: the pipeline over Spark Connect, at a server that has the same packages."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.install.environment import TIMEOUT_S, Environment, Installer
from tests.lake.spark_processes import HERE, is_open, until
from tests.ports import free_port

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS = {
    "spark.connect.grpc.binding.address": HERE,
    "spark.driver.host": HERE,
    "spark.driver.bindAddress": HERE,
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
}
JAVA = (
    "import json; from rookery.lake.engine import java;"
    " print(json.dumps(java.environment(java.find())))"
)
# Realms alone: what becomes of them ends with Python on Spark's workers, and is soon done.
LANDING = """
from rookery.lake.engine.delta import Lake
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.schema import landing
for table, rows in SyntheticDataset(days=1, devices=3, nodes=10, realms=1).chunks():
    if table == landing.RECORD_CHANGES:
        Lake("lake").append(table, rows, [], {})
"""
MADE = {"clean/record_changes", "facts/topology_edges", "insights/topology_health"}


def test_the_pipeline_runs_over_spark_connect(installer: Installer, tmp_path: Path) -> None:
    connect = installer.environment("connect")
    assert connect.run(connect.python, "-c", LANDING, cwd=tmp_path).code == 0
    with spark_connect(connect, tmp_path) as url:
        run = ("lake", "run", "--once", "--data", tmp_path / "lake", "--remote", url, "--json")
        outcome = connect.rookery(*run, cwd=tmp_path)
    steps = {
        str(line["table"]): line["outcome"] for line in outcome.json_lines() if line["is"] == "step"
    }
    assert set(steps.values()) <= {"done", "skipped"}
    assert {table for table, end in steps.items() if end == "done"} >= MADE
    assert (outcome.code, outcome.err) == (0, "")


def test_a_server_that_is_away_is_one_line(installer: Installer, tmp_path: Path) -> None:
    connect = installer.environment("connect")
    assert connect.run(connect.python, "-c", LANDING, cwd=tmp_path).code == 0
    run = ("lake", "run", "--data", "lake", "--remote", f"sc://{HERE}:{free_port()}", "--json")
    outcome = connect.rookery(*run, cwd=tmp_path)
    assert outcome.code == 3
    assert "does not answer" in outcome.complaint()


@contextmanager
def spark_connect(environment: Environment, folder: Path) -> Iterator[str]:
    """The address of a Connect server with a Spark and a Java from the environment."""
    port = free_port()
    settings = {**SETTINGS, "spark.connect.grpc.binding.port": str(port)}
    options = [word for each in settings.items() for word in ("--conf", "=".join(each))]
    submit = environment.packages / "pyspark" / "bin" / "spark-submit"
    java = json.loads(environment.run(environment.python, "-c", JAVA, cwd=folder).out)
    variables = {**java, "PYSPARK_PYTHON": str(environment.python), "SPARK_LOCAL_IP": HERE}
    words = ["--class", SERVER, "--master", "local[2]", *options, "spark-internal"]
    with environment.process(submit, *words, cwd=folder, settings=variables) as server:
        until(lambda: is_open(port) or server.poll() is not None, TIMEOUT_S)
        assert server.poll() is None, (folder / "errors").read_text()[-2000:]
        try:
            yield f"sc://{HERE}:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)  # its workers, too
