"""Source files: read from where the other end is, and only as long as they stay the same."""

import os
from hashlib import blake2b
from pathlib import Path

import pytest

from rookery.mesh.files.fault import CopyError, FileFault
from rookery.runtime.files.source_file import SourceFile
from rookery.wire.mesh.file_frames import TransferHave


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"hello rooks")
    return path


@pytest.fixture
def source(path: Path) -> SourceFile:
    return SourceFile(os.open(path, os.O_RDONLY))


def agreed(source: SourceFile, have: TransferHave) -> int:
    while source.skip(have):
        pass
    return source.agree(have)


def test_it_goes_on_behind_what_is_the_same(source: SourceFile) -> None:
    assert agreed(source, TransferHave(6, digest(b"hello "))) == 6
    assert source.read(100) == b"rooks"
    assert source.read(100) == b""
    assert source.whole() == digest(b"hello rooks")


@pytest.mark.parametrize(
    "have",
    [
        TransferHave(6, digest(b"hallo ")),
        TransferHave(0, digest(b"x")),
        TransferHave(100, digest(b"hello rooks")),
        TransferHave(11, digest(b"hello ducks")),
    ],
)
def test_it_begins_anew_for_anything_else(source: SourceFile, have: TransferHave) -> None:
    assert agreed(source, have) == 0
    assert source.read(100) == b"hello rooks"
    assert source.whole() == digest(b"hello rooks")


def test_a_complete_copy_is_recognised(source: SourceFile) -> None:
    assert agreed(source, TransferHave(11, digest(b"hello rooks"))) == 11
    assert source.whole() == digest(b"hello rooks")


def test_a_file_that_changes_meanwhile_is_not_vouched_for(source: SourceFile, path: Path) -> None:
    source.read(100)
    with path.open("ab") as file:
        file.write(b"!")
    with pytest.raises(CopyError) as caught:
        source.whole()
    assert caught.value.fault is FileFault.CHANGED


def test_a_file_that_becomes_shorter_is_given_up(source: SourceFile, path: Path) -> None:
    source.read(3)
    path.write_bytes(b"")
    with pytest.raises(CopyError) as caught:
        source.read(100)
    assert caught.value.fault is FileFault.CHANGED


def test_nothing_is_read_after_the_end(source: SourceFile) -> None:
    source.close()
    source.close()
    with pytest.raises(CopyError):
        source.read(1)
