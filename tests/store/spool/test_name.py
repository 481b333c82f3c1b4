"""P2: everybody means the same spool."""

from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.store.spool.name import spool_name


def test_a_spool_keeps_its_name(tmp_path: Path) -> None:
    assert spool_name(tmp_path) == spool_name(tmp_path)
    (tmp_path / "other").mkdir()
    assert spool_name(tmp_path / "other") != spool_name(tmp_path)


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"spool\.name"):
        spool_name(tmp_path / "absent")
