"""The demo's folder: cleaned when it is a demo's, and used by one at a time."""

from pathlib import Path

import pytest

from rookery.cli.demo.folder import prepared
from rookery.errors import UsageError


def test_what_an_earlier_demo_left_is_removed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    place = tmp_path / "demo"
    with prepared(place) as folder:
        (folder.hub / "spool").mkdir(parents=True)
        (folder.path / "link").symlink_to(elsewhere)
    with prepared(place) as folder:
        assert not folder.hub.exists()
        assert folder.log("hub").parent.is_dir()
    assert (elsewhere / "kept").exists()


def test_a_folder_that_is_no_demos_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(UsageError, match="something else"), prepared(tmp_path):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["precious"]


def test_two_demos_need_two_folders(tmp_path: Path) -> None:
    with prepared(tmp_path / "demo") as folder:
        folder.hub.mkdir()
        with pytest.raises(UsageError, match="running"), prepared(tmp_path / "demo"):
            pass
        assert folder.hub.exists()
