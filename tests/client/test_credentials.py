"""The sign-in on disk: for its owner alone, whole or not there."""

from pathlib import Path

import pytest

from rookery.client import credentials
from rookery.client.credentials import FILE_NAME, HubCredentials
from rookery.errors import UsageError

ANN = HubCredentials(url="https://hub.example.org", login="ann", token="rk_secret", token_id=7)


def test_what_is_saved_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    credentials.save(folder, ANN)
    assert credentials.load(folder) == ANN
    assert (folder / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert "rk_secret" not in repr(ANN)


def test_there_are_no_credentials_at_first_and_after_signing_out(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(UsageError, match="rookery login"):
            credentials.load(tmp_path)
        credentials.save(tmp_path, ANN)
        credentials.remove(tmp_path)


def test_a_file_that_others_can_read_is_not_trusted(tmp_path: Path) -> None:
    credentials.save(tmp_path, ANN)
    (tmp_path / FILE_NAME).chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        credentials.load(tmp_path)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"v":2}', b"\xff"])
def test_a_damaged_file_says_what_to_do(data: bytes, tmp_path: Path) -> None:
    credentials.save(tmp_path, ANN)
    (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(UsageError, match="sign in anew"):
        credentials.load(tmp_path)


def test_a_folder_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        credentials.save(tmp_path / "file", ANN)
