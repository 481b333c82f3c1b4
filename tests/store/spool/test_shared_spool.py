"""A spool whose hub and lake have users of their own: shared in a marked folder, else nobody's."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.store.spool import watermark
from rookery.store.spool.name import spool_name
from rookery.store.spool.segment import Segment, SegmentFile, frame, segments
from tests.patience import PATIENCE_S

HUB, LAKE, STRANGER = 64_201, 64_202, 64_203  # numbers of users; none needs a name
OWN_ALONE = 0o600

# Imports first, as another user may not be able to read the sources.
PROGRAM = """
import os, sys
from pathlib import Path
from rookery.store.spool import watermark
from rookery.store.spool.segment import Segment, SegmentFile, frame, segments
from rookery.store.spool.name import spool_name
user, *groups = map(int, sys.argv[2].split(","))
data, spool = Path(sys.argv[1]), Path(sys.argv[1], "spool")
os.setgroups(groups), os.setgid(user), os.setuid(user), os.umask(0o077)
"""


def run(user: int, groups: list[int], data: Path, doing: str) -> str:
    """What a program of that user prints, or the last line of its complaint."""
    who = ",".join(map(str, [user, *groups]))
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM + doing, data, who],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    return (said.stdout + said.stderr).splitlines()[-1]


@pytest.fixture
def data() -> Iterator[Path]:
    """As deploy/systemd makes it: pytest's own folders let nobody else through."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "hub")
        (folder / "spool").mkdir(parents=True)
        for path, mode in ((Path(name), 0o711), (folder, 0o710), (folder / "spool", 0o3770)):
            os.chown(path, HUB, HUB)
            path.chmod(mode)
        yield folder


WRITE = "SegmentFile.create(Segment.at(spool, 0)).append(frame([b'seen'])); print(spool_name(data))"
READ = "print([each.data for found in segments(spool) for each in found.records(found.start)])"
MARK = "(spool / 'landing.lock').open('w').close(); watermark.save(spool, 12)"
LAND = f"{READ}\n{MARK}\nprint(spool_name(data))"


def test_hub_and_lake_of_different_users_share_a_spool_and_nothing_else(data: Path) -> None:
    name = run(HUB, [], data, WRITE)
    assert run(LAKE, [HUB], data, READ) == "[b'seen']"
    assert run(LAKE, [HUB], data, LAND) == name
    assert run(HUB, [], data, "print(watermark.read(spool))") == "12"
    assert "denied" in run(STRANGER, [], data, "spool_name(data)")
    assert "PermissionError" in run(LAKE, [HUB], data, "(data / 'identity.json').touch()")


def test_a_lake_can_neither_change_nor_remove_what_a_hub_wrote(data: Path) -> None:
    run(HUB, [], data, WRITE)
    first = "segments(spool)[0].path"
    assert "not permitted" in run(LAKE, [HUB], data, f"{first}.unlink()")
    assert "denied" in run(LAKE, [HUB], data, f"{first}.open('r+b')")


@pytest.mark.parametrize(("mode", "expected"), [(0o700, 0o600), (0o770, 0o600), (0o2770, 0o640)])
def test_only_a_marked_folder_is_shared(tmp_path: Path, mode: int, expected: int) -> None:
    folder = tmp_path / "spool"
    folder.mkdir()
    folder.chmod(mode)
    SegmentFile.create(Segment.at(folder, 0)).append(frame([b"seen"]))
    watermark.save(folder, 7)
    paths = [segments(folder)[0].path, folder / "landed"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [expected, expected]


def test_a_name_of_an_earlier_version_can_be_read_from_now_on(tmp_path: Path) -> None:
    (tmp_path / "spool.name").write_text("0123456789abcdef")
    (tmp_path / "spool.name").chmod(OWN_ALONE)
    assert spool_name(tmp_path) == "0123456789abcdef"
    assert stat.S_IMODE((tmp_path / "spool.name").stat().st_mode) == 0o644


def test_a_spool_without_a_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        spool_name(tmp_path / "nowhere")
