"""`rookery id`: keys are made once, kept private, and shown only in their public half."""

import json
import stat
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.runtime.endpoint import keystore
from rookery.wire import base32


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_new_keys_are_for_their_owner_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """T1: 40 and 3a, without asking."""
    folder = tmp_path / "bob"
    assert main(["id", "new", str(folder), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made.keys() == {"v", "hashname", "keys", "folder"}
    assert made["keys"].keys() == {"40", "3a"}
    assert stat.S_IMODE((folder / "identity.json").stat().st_mode) == 0o600


def test_show_prints_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    identity = keystore.create(tmp_path, [0x40, 0x3A])
    assert main(["id", "show", str(tmp_path)]) == 0
    assert main(["id", "show", str(tmp_path), "--json"]) == 0
    printed = capsys.readouterr().out
    assert identity.hashname in printed
    for pair in identity.pairs.values():
        assert base32.encode(pair.key) in printed
        assert base32.encode(pair.secret) not in printed


def test_cipher_sets_are_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["id", "new", str(tmp_path / "x"), "--cs", "3a,2a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["keys"].keys() == {"3a", "2a"}


@pytest.mark.parametrize("cs", ["99", "zz", "40;3a", ""])
def test_an_unknown_cipher_set_is_refused(
    cs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["id", "new", str(tmp_path / "x"), "--cs", cs]) == 2
    assert "cipher set" in complaint(capsys)
    assert not (tmp_path / "x").exists()


def test_keys_are_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = keystore.create(tmp_path, [0x3A]).hashname
    assert main(["id", "new", str(tmp_path)]) == 2
    assert "exists already" in complaint(capsys)
    assert keystore.load(tmp_path).hashname == before


def test_a_damaged_key_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keystore.create(tmp_path, [0x3A])
    file = tmp_path / "identity.json"
    file.write_bytes(file.read_bytes()[:-40])
    assert main(["id", "show", str(tmp_path)]) == 2
    line = complaint(capsys)
    assert "identity.json is damaged" in line
    assert "backup" in line


def test_missing_keys_say_how_to_make_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["id", "show", str(tmp_path / "nobody")]) == 2
    assert "rookery id new" in complaint(capsys)
