"""The version that is installed, and how it was built."""

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

import pytest

from rookery.runtime.version import UNKNOWN, installed_version

SOURCES = Path(__file__).parents[2] / "src" / "rookery"


def test_it_is_what_the_standard_library_says() -> None:
    assert installed_version() == version("rookery")


def test_it_may_be_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    installed_version.cache_clear()
    assert installed_version() == UNKNOWN
    installed_version.cache_clear()


def test_what_runs_from_its_sources_says_so(tmp_path: Path) -> None:
    program = "from rookery.runtime.version import build; print(build())"
    package = tmp_path / "rookery"
    for name in ("__init__.py", "runtime/__init__.py", "runtime/version.py"):
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_bytes((SOURCES / name).read_bytes())
    (package / "wire" / "link").mkdir(parents=True)
    for name in ("__init__.py", "link/__init__.py", "link/framing.py"):
        (package / "wire" / name).touch()
    pure = f"pure Python {sys.version_info.major}.{sys.version_info.minor}"
    assert answer(program, tmp_path) == f"{pure}: run from its sources"
    (package / "not_compiled.txt").write_text("no C compiler\n")
    assert answer(program, tmp_path) == f"{pure}: no C compiler"
    (package / "wire" / "link" / f"framing{EXTENSION_SUFFIXES[0]}").touch()
    assert answer(program, tmp_path) == pure.replace("pure", "compiled,")


def answer(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()
