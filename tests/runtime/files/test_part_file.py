"""Part files: kept through interruptions, locked, and in their place only if proved whole."""

import os
import stat
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import pytest

from rookery.mesh.files.fault import CopyError, FileFault
from rookery.runtime.files.part_file import PartFile
from rookery.runtime.files.safe_open import open_folder
from rookery.wire.mesh.file_frames import TransferHave


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def part_of(folder: Path, name: str = "file", mode: int = 0o644) -> PartFile:
    opened = open_folder(str(folder))
    try:
        return PartFile(opened, name, mode)
    except BaseException:
        os.close(opened)
        raise


def fault(do: Callable[[], object]) -> FileFault:
    with pytest.raises(CopyError) as caught:
        do()
    return caught.value.fault


def hashed(part: PartFile) -> TransferHave:
    while part.hash_more():
        pass
    return part.have


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_takes_its_place_when_its_digest_is_right(tmp_path: Path) -> None:
    part = part_of(tmp_path)
    assert hashed(part) == TransferHave(0, digest(b""))
    part.begin(0)
    part.write(b"hello ")
    part.write(b"rooks")
    assert names(tmp_path) == [".file.part"]
    assert stat.S_IMODE((tmp_path / ".file.part").stat().st_mode) == 0o600
    part.finish(digest(b"hello rooks"))
    part.close()
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"hello rooks"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


def test_what_had_arrived_is_found_again(tmp_path: Path) -> None:
    part = part_of(tmp_path)
    part.begin(0)
    part.write(b"hello ")
    part.close()
    part = part_of(tmp_path)
    assert hashed(part) == TransferHave(6, digest(b"hello "))
    part.begin(6)
    part.write(b"rooks")
    part.finish(digest(b"hello rooks"))
    part.close()
    assert (tmp_path / "file").read_bytes() == b"hello rooks"


def test_what_is_of_no_use_is_dropped(tmp_path: Path) -> None:
    (tmp_path / ".file.part").write_bytes(b"something else, and longer")
    part = part_of(tmp_path)
    hashed(part)
    part.begin(0)
    part.write(b"rooks")
    part.finish(digest(b"rooks"))
    part.close()
    assert (tmp_path / "file").read_bytes() == b"rooks"


def test_a_wrong_digest_leaves_what_was_there_and_no_part(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"former")
    part = part_of(tmp_path)
    part.begin(0)
    part.write(b"forged")
    assert fault(lambda: part.finish(digest(b"true"))) is FileFault.DIGEST
    part.close()
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"former"


def test_what_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"former")
    (tmp_path / "file").chmod(0o4640)
    part = part_of(tmp_path)
    part.begin(0)
    part.finish(digest(b""))
    part.close()
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_no_two_write_the_same_file(tmp_path: Path) -> None:
    part = part_of(tmp_path)
    part.begin(0)
    part.write(b"x")
    assert fault(lambda: part_of(tmp_path)) is FileFault.IN_USE
    part_of(tmp_path, "other").close()
    part.close()
    part_of(tmp_path).close()


def test_nothing_arrived_leaves_nothing_behind(tmp_path: Path) -> None:
    part_of(tmp_path).close()
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["file", ".file.part"])
def test_links_folders_and_fifos_in_its_place_are_left_alone(tmp_path: Path, name: str) -> None:
    inbox, outside = tmp_path / "inbox", tmp_path / "outside"
    inbox.mkdir()
    outside.write_bytes(b"precious")
    (inbox / name).symlink_to(outside)
    assert fault(lambda: part_of(inbox)) is FileFault.KIND
    (inbox / name).unlink()
    (inbox / name).mkdir()
    assert fault(lambda: part_of(inbox)) is FileFault.KIND
    (inbox / name).rmdir()
    os.mkfifo(inbox / name)
    assert fault(lambda: part_of(inbox)) is FileFault.KIND
    assert outside.read_bytes() == b"precious"
    assert names(inbox) == [name]


def test_a_part_that_is_also_a_file_elsewhere_is_not_written(tmp_path: Path) -> None:
    inbox, outside = tmp_path / "inbox", tmp_path / "outside"
    inbox.mkdir()
    outside.write_bytes(b"precious")
    os.link(outside, inbox / ".file.part")
    assert fault(lambda: part_of(inbox)) is FileFault.IN_USE
    assert outside.read_bytes() == b"precious"


def test_nothing_happens_after_the_end(tmp_path: Path) -> None:
    part = part_of(tmp_path)
    part.close()
    part.close()
    for call in (part.hash_more, lambda: part.begin(0), lambda: part.write(b"x")):
        assert fault(call) is FileFault.BROKEN
