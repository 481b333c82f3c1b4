"""What comes with each extra: what its lock names, nothing beside it, and not too much of it."""

from pathlib import Path

import pytest

from tests.install.environment import Environment, Installer, extras, lock, pins

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]

AGENT_SIZE_MAX = 100 << 20  # on a device, with bytecode
HEAVY = {"litestar", "numpy", "pandas", "pyspark", "sqlalchemy"}


@pytest.mark.parametrize("extra", extras())
def test_an_extra_brings_what_its_lock_names_and_nothing_else(
    installer: Installer, extra: str
) -> None:
    assert lock(extra).exists(), "make lock writes one for each extra of the Makefile's EXTRAS"
    found = installer.environment(extra).distributions()
    assert found.pop("rookery")
    assert found == pins(extra)


def test_a_device_gets_little(none: Environment) -> None:
    assert not HEAVY & set(pins("none"))
    compiled = none.run(none.python, "-m", "compileall", "-q", none.packages, cwd=none.folder)
    assert compiled.code == 0, compiled.out
    assert allocated(none.packages) < AGENT_SIZE_MAX


def allocated(folder: Path) -> int:
    """Bytes on the disk, as `du` counts them."""
    return sum(each.lstat().st_blocks * 512 for each in folder.rglob("*"))
