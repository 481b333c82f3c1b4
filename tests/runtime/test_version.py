"""The version that is installed."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from rookery.runtime.version import UNKNOWN, installed_version


def test_it_is_what_the_standard_library_says() -> None:
    assert installed_version() == version("rookery")


def test_it_may_be_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    installed_version.cache_clear()
    assert installed_version() == UNKNOWN
    installed_version.cache_clear()
