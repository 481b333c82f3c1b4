"""Hadoop's local file system in the JVM of a session: it starts no process for each file."""

import stat
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from rookery.lake.engine import hadoop_permissions

pytestmark = pytest.mark.xdist_group("spark")


def file_system(spark: SparkSession) -> Any:  # noqa: ANN401 - Py4J has no types
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.FileSystem.get(
        jvm.java.net.URI("file:///"), jvm.org.apache.hadoop.conf.Configuration()
    )


def permission(spark: SparkSession, octal: str) -> Any:  # noqa: ANN401
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.permission.FsPermission(octal)


def path(spark: SparkSession, file: Path) -> Any:  # noqa: ANN401
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.Path(str(file))


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.parametrize("octal", ["600", "640", "755", "000", "1777"])
def test_a_permission_is_set_as_requested(spark: SparkSession, tmp_path: Path, octal: str) -> None:
    file_system(spark).setPermission(path(spark, tmp_path), permission(spark, octal))
    found = mode(tmp_path)
    tmp_path.chmod(0o700)
    assert found == int(octal, 8)


def test_what_spark_writes_has_the_permissions_of_any_new_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(10).write.parquet(str(tmp_path / "made"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert mode(tmp_path / "made") == mode(tmp_path / "folder")
    files = list((tmp_path / "made").glob("*.parquet"))
    assert {mode(file) for file in files} == {mode(tmp_path / "file")}


def test_it_takes_no_process(spark: SparkSession, tmp_path: Path) -> None:
    gateway = SparkContext._gateway
    assert gateway is not None
    process = psutil.Process(gateway.proc.pid)

    def of_children() -> float:
        times = process.cpu_times()
        return float(times.children_user + times.children_system)

    files, where, wanted = file_system(spark), path(spark, tmp_path), permission(spark, "700")
    before = of_children()
    for _ in range(300):
        files.setPermission(where, wanted)
    assert of_children() - before < 0.1  # a process of each took 0.7 s


def test_without_a_compiler_hadoops_own_way_stays(spark: SparkSession) -> None:
    before = file_system(spark).hashCode()
    jvm: Any = spark._jvm
    hadoop_permissions.install(jvm.there_is_no_such_package)
    assert file_system(spark).hashCode() == before
