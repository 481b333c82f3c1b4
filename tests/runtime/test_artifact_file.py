"""P5: a file is followed from the moment it is there to the moment it is not."""

import os
from pathlib import Path

import pytest

from rookery.errors import DecodeError
from rookery.runtime.artifact_file import ArtifactFile, ArtifactState
from rookery.wire.artifact import ARTIFACT_SIZE_MAX


class Reader:
    """Heeds all but what begins with an x."""

    def __init__(self) -> None:
        self.heeded: list[bytes | None] = []

    def __call__(self, data: bytes | None) -> None:
        self.heeded.append(data)
        if data is not None and data.startswith(b"x"):
            raise DecodeError("no artifact")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.rka"


def put(path: Path, data: bytes) -> None:
    """As exporters do: whole or not at all."""
    aside = path.with_suffix(".new")
    aside.write_bytes(data)
    aside.replace(path)


def test_each_change_is_heeded_once(path: Path) -> None:
    reader = Reader()
    file = ArtifactFile(path, reader)
    assert [file.look(), file.look()] == [True, False]
    assert (file.state, reader.heeded) == (ArtifactState.MISSING, [None])
    put(path, b"one")
    assert [file.look(), file.look()] == [True, False]
    assert (file.state, file.problem) == (ArtifactState.FOLLOWED, "")
    put(path, b"two")
    assert file.look()
    path.unlink()
    assert [file.look(), file.look()] == [True, False]
    assert reader.heeded == [None, b"one", b"two", None]
    assert "No such file" in file.problem


def test_what_is_refused_is_said_and_counted(path: Path) -> None:
    reader = Reader()
    file = ArtifactFile(path, reader)
    put(path, b"x")
    assert file.look()
    assert (file.state, file.refused) == (ArtifactState.REFUSED, 1)
    assert file.problem.endswith("no artifact")
    put(path, b"good")
    assert file.look()
    assert (file.state, file.problem) == (ArtifactState.FOLLOWED, "")


def test_no_more_is_read_than_an_artifact_can_have(path: Path) -> None:
    reader = Reader()
    put(path, bytes(ARTIFACT_SIZE_MAX * 3))
    ArtifactFile(path, reader).look()
    assert reader.heeded == [bytes(ARTIFACT_SIZE_MAX + 1)]


def test_what_is_no_file_counts_as_missing(path: Path) -> None:
    reader = Reader()
    path.mkdir()
    file = ArtifactFile(path, reader)
    assert file.look()
    assert (file.state, reader.heeded) == (ArtifactState.MISSING, [None])
    assert "Is a directory" in file.problem


def test_what_was_forgotten_is_found_again(path: Path) -> None:
    reader = Reader()
    put(path, b"one")
    file = ArtifactFile(path, reader)
    file.look()
    file.forget()
    file.forget()
    assert reader.heeded == [b"one", None]
    assert file.look()
    assert reader.heeded[-1] == b"one"


def test_a_change_within_one_tick_of_the_clock_is_seen_by_its_size(path: Path) -> None:
    reader = Reader()
    file = ArtifactFile(path, reader)
    for data in (b"one", b"three"):
        path.write_bytes(data)
        os.utime(path, ns=(0, 0))
        assert file.look()
    assert reader.heeded == [b"one", b"three"]
