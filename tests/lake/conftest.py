"""One Spark session for all tests of a worker; an address in the environment runs them there."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from rookery.lake.engine import spark_session
from rookery.lake.engine.delta import Lake
from tests.lake.spark_processes import Cluster, cluster
from tests.lake.synthetic_world import SyntheticWorld, landed_world

MASTER = os.environ.get("ROOKERY_TEST_SPARK", "local[2]")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Starts in 9 to 35 s, so that it is shared; `xdist_group("spark")` keeps it one."""
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.log.level": "ERROR",
    }
    started = spark_session.start(MASTER, name="rookery tests", settings=settings)
    yield started
    _check_jvm()
    started.stop()


def _check_jvm() -> None:
    """Of one that is gone Py4J says no more than that it refuses connections."""
    process = getattr(SparkContext._gateway, "proc", None)  # none where others started it
    if process is not None and (code := process.poll()) is not None:
        said = spark_session.log_file().read_text(errors="replace")[-2000:]
        pytest.fail(f"Spark's JVM has ended before, exit code {code}:\n{said}", pytrace=False)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> SyntheticWorld:
    """Three days of 24 devices in landing tables: all tests read them, none may write."""
    return landed_world(tmp_path_factory.mktemp("synthetic"))


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers on loopback; `xdist_group("cluster")` keeps it one."""
    with cluster(tmp_path_factory.mktemp("cluster"), workers=2) as started:
        yield started
