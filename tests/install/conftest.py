"""Environments for all tests here: made when first asked for, and gone with the session."""

import shutil
from collections.abc import Iterator

import pytest

from tests.install.environment import Environment, Installer


@pytest.fixture(scope="session")
def installer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installer]:
    folder = tmp_path_factory.mktemp("install")
    yield Installer(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def none(installer: Installer) -> Environment:
    """What a device has."""
    return installer.environment("none")
