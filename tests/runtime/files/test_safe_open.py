"""Opening names below a folder: plain files only, and never anywhere else."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from rookery.mesh.files.fault import CopyError, FileFault
from rookery.runtime.files.safe_open import create_file, open_file, open_folder


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A folder to serve, with a secret beside it."""
    (tmp_path / "secret").write_text("secret")
    inside = tmp_path / "inside"
    (inside / "a" / "b").mkdir(parents=True)
    (inside / "a" / "b" / "file").write_text("plain")
    return inside


def opened(root: Path, *parts: str) -> bytes:
    folder = open_folder(str(root), parts[:-1])
    try:
        file = open_file(folder, parts[-1])
        try:
            return os.read(file, 100)
        finally:
            os.close(file)
    finally:
        os.close(folder)


def fault(do: Callable[[], object]) -> FileFault:
    with pytest.raises(CopyError) as caught:
        do()
    return caught.value.fault


def test_a_plain_file_below_is_opened(inside: Path) -> None:
    assert opened(inside, "a", "b", "file") == b"plain"


def test_the_folder_itself_may_be_a_link(inside: Path, tmp_path: Path) -> None:
    """The operator named it."""
    (tmp_path / "link").symlink_to(inside)
    assert opened(tmp_path / "link", "a", "b", "file") == b"plain"


def test_no_link_is_followed_wherever_it_leads(inside: Path, tmp_path: Path) -> None:
    (inside / "out").symlink_to(tmp_path)
    (inside / "secret").symlink_to(tmp_path / "secret")
    (inside / "within").symlink_to(inside / "a" / "b" / "file")
    (inside / "a" / "dots").symlink_to("../..")
    assert fault(lambda: opened(inside, "out", "secret")) is FileFault.KIND
    assert fault(lambda: opened(inside, "a", "dots", "secret")) is FileFault.KIND
    assert fault(lambda: opened(inside, "secret")) is FileFault.KIND
    assert fault(lambda: opened(inside, "within")) is FileFault.KIND


def special(folder: Path) -> Iterator[str]:
    os.mkfifo(folder / "fifo")
    yield "fifo"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(folder / "socket"))
        yield "socket"
    if os.geteuid() == 0:
        with suppress(PermissionError):
            os.mknod(folder / "null", 0o20666, os.makedev(1, 3))
            yield "null"
    yield "a"


def test_what_is_no_plain_file_is_refused_without_waiting(inside: Path) -> None:
    for name in special(inside):
        assert fault(lambda name=name: opened(inside, name)) is FileFault.KIND  # type: ignore[misc]


def test_what_is_not_there_is_missing(inside: Path) -> None:
    assert fault(lambda: opened(inside, "nothing")) is FileFault.MISSING
    assert fault(lambda: opened(inside, "nothing", "file")) is FileFault.MISSING
    assert fault(lambda: opened(inside, "a", "b", "file", "x")) is FileFault.KIND
    assert fault(lambda: open_folder(str(inside / "gone"))) is FileFault.MISSING


def test_a_file_is_made_for_its_owner_alone_and_never_through_a_link(
    inside: Path, tmp_path: Path
) -> None:
    folder = open_folder(str(inside))
    try:
        os.close(create_file(folder, "new"))
        assert (inside / "new").stat().st_mode & 0o777 == 0o600
        (inside / "trap").symlink_to(tmp_path / "made")
        assert fault(lambda: create_file(folder, "trap")) is FileFault.KIND
        assert not (tmp_path / "made").exists()
        os.mkfifo(inside / "fifo")
        assert fault(lambda: create_file(folder, "fifo")) is FileFault.KIND
    finally:
        os.close(folder)


def test_whoever_swaps_folders_for_links_meanwhile_gets_nobody_out(
    inside: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "b").mkdir(parents=True)
    (outside / "b" / "file").write_text("secret")
    is_done = Event()

    def swap() -> None:
        while not is_done.is_set():
            os.rename(inside / "a", inside / "kept")
            os.symlink(outside, inside / "a")
            os.unlink(inside / "a")
            os.rename(inside / "kept", inside / "a")

    before = len(os.listdir("/proc/self/fd"))
    thread = Thread(target=swap)
    thread.start()
    seen, deadline = set[bytes](), time.monotonic() + 30
    try:
        while not seen >= {b"plain", b"kind"} and time.monotonic() < deadline:
            try:
                seen.add(opened(inside, "a", "b", "file"))
            except CopyError as error:
                seen.add(error.fault.value.encode())
    finally:
        is_done.set()
        thread.join()
    assert seen >= {b"plain", b"kind"}, "it was never opened in both states"
    assert b"secret" not in seen
    assert len(os.listdir("/proc/self/fd")) == before
