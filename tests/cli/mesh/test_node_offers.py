"""What a node offers, as the command line says it."""

from pathlib import Path

import pytest

from rookery.cli.mesh.node_offers import parse_devices, parse_folders
from rookery.errors import UsageError


def test_devices_have_names() -> None:
    assert parse_devices(["meter=/dev/a=b", "scale=/dev/c"]) == {
        "meter": "/dev/a=b",
        "scale": "/dev/c",
    }


@pytest.mark.parametrize("texts", [["meter"], ["=/dev/a"], ["meter="], ["m=/dev/a", "m=/dev/b"]])
def test_what_is_no_device_is_wrong_usage(texts: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_devices(texts)


def test_folders_are_where_they_were_when_the_node_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inbox").mkdir()
    monkeypatch.chdir(tmp_path)
    rules = parse_folders(["inbox=inbox:rw"])
    assert rules.directories == {"inbox": str(tmp_path / "inbox")}
    assert rules.directory("inbox", "anybody", to_write=True) == str(tmp_path / "inbox")


@pytest.mark.parametrize("text", ["inbox", "inbox=nowhere", "a b=.", "inbox=.:rw from bob"])
def test_what_is_no_folder_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError):
        parse_folders([text])
