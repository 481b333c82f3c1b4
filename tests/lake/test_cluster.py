"""The same work on a real cluster: one master and two workers on loopback (P1)."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from rookery.lake import package
from rookery.lake.engine import java
from rookery.lake.engine.delta import Lake
from rookery.lake.schema import insights, landing
from rookery.lake.synthetic.dataset import SyntheticDataset
from tests.lake.spark_processes import HERE, Cluster

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SMALLEST = SyntheticDataset(days=1, devices=3, nodes=10, realms=1)
SUITE = (
    "engine/test_pipeline.py",
    "engine/test_spark_tables.py",
    "facts/test_rates.py",
    "insights/test_topology_health.py",
)
TIMEOUT_S = 1800  # a minute or two where nobody else works


def test_the_same_suite_passes_on_a_cluster(spark_cluster: Cluster, tmp_path: Path) -> None:
    """P1: the engine and transforms, those with Python on the workers among them."""
    suite = [f"tests/lake/{name}" for name in SUITE]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    ours = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, f"--basetemp={tmp_path / 'suite'}", *suite],
        env={**ours, "ROOKERY_TEST_SPARK": spark_cluster.url},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout


def test_spark_submit_runs_the_package(spark_cluster: Cluster, tmp_path: Path) -> None:
    """P1: two files are all that it takes; the pipeline's own steps, from landing to insights."""
    lake = Lake(str(tmp_path / "lake"))
    for table, rows in SMALLEST.chunks():
        if table == landing.RECORD_CHANGES:
            lake.append(table, rows, [], {})
    done = _submit(spark_cluster, package.write(tmp_path / "submit"), lake.url)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "clean/calls\tskipped" in done.stdout
    assert "insights/critical_elements\tdone" in done.stdout
    assert lake.rows(insights.TOPOLOGY_HEALTH) > 0


def _submit(cluster: Cluster, files: package.Package, url: str) -> subprocess.CompletedProcess[str]:
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = {
        "spark.driver.host": HERE,
        "spark.driver.bindAddress": HERE,
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
    }
    options = [part for each in settings.items() for part in ("--conf", "=".join(each))]
    environment = {
        # Only the archive knows rookery: not this checkout.
        **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        "JAVA_HOME": str(java.find().home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": HERE,
    }
    command = [str(submit), "--master", cluster.url, *options, "--py-files", str(files.archive)]
    return subprocess.run(
        [*command, str(files.program), "--data", url],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=files.program.parent,
    )
