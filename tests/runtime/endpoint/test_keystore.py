"""Keys on disk: private, whole, and one clear line when they are not."""

import json
import stat
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.runtime.endpoint import keystore

CSIDS = (0x40, 0x3A)


def test_stored_keys_make_the_same_hashname_again(tmp_path: Path) -> None:
    """T1."""
    made = keystore.create(tmp_path / "alice", CSIDS)
    assert keystore.load(tmp_path / "alice").hashname == made.hashname


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    keystore.create(tmp_path / "alice", CSIDS)
    file = tmp_path / "alice" / keystore.FILE_NAME
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_nothing_is_left_aside(tmp_path: Path) -> None:
    keystore.create(tmp_path, CSIDS)
    assert [file.name for file in tmp_path.iterdir()] == [keystore.FILE_NAME]


def test_existing_keys_are_never_overwritten(tmp_path: Path) -> None:
    made = keystore.create(tmp_path, CSIDS)
    with pytest.raises(UsageError, match="exists already"):
        keystore.create(tmp_path, CSIDS)
    assert keystore.load(tmp_path).hashname == made.hashname


def test_a_folder_without_keys_names_the_next_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rookery id new"):
        keystore.load(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(UsageError, match="cannot write keys"):
        keystore.create(blocked / "alice", CSIDS)


def test_a_folder_in_the_place_of_the_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / keystore.FILE_NAME).mkdir()
    with pytest.raises(UsageError, match="cannot read"):
        keystore.load(tmp_path)


def stored(tmp_path: Path) -> dict[str, object]:
    keystore.create(tmp_path, CSIDS)
    value: dict[str, object] = json.loads((tmp_path / keystore.FILE_NAME).read_text())
    return value


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ({"v": 9}, "version 9"),
        ({"keys": {}}, "do not match"),
        ({"keys": {}, "secrets": {}}, "no key"),
        ({"hashname": "a" * 52}, "another hashname"),
        ({"keys": {"zz": "aa"}, "secrets": {"zz": "aa"}}, "two hex digits"),
        ({"keys": {"40": "aa"}, "secrets": {"40": "aa"}}, "damaged"),
        ({"keys": {"40": "!!"}, "secrets": {"40": "aa"}}, "damaged"),
        ({"more": 1}, "does not hold keys"),
    ],
)
def test_a_damaged_file_says_what_is_wrong(
    tmp_path: Path, damage: dict[str, object], complaint: str
) -> None:
    value = stored(tmp_path) | damage
    (tmp_path / keystore.FILE_NAME).write_text(json.dumps(value))
    with pytest.raises(UsageError, match=complaint):
        keystore.load(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{", b"[]", b"{" * 100_000])
def test_what_is_no_key_file_is_called_damaged(tmp_path: Path, data: bytes) -> None:
    (tmp_path / keystore.FILE_NAME).write_bytes(data)
    with pytest.raises(UsageError, match="damaged"):
        keystore.load(tmp_path)


def test_a_secret_of_other_keys_is_refused(tmp_path: Path) -> None:
    mine, theirs = stored(tmp_path / "a"), stored(tmp_path / "b")
    mine["secrets"] = theirs["secrets"]
    (tmp_path / "a" / keystore.FILE_NAME).write_text(json.dumps(mine))
    with pytest.raises(UsageError, match="damaged"):
        keystore.load(tmp_path / "a")


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        keystore.create(tmp_path, CSIDS)
    assert list(tmp_path.iterdir()) == []
