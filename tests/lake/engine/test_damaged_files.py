"""P3: files that cannot be read are found, told apart from the others, and say what is wrong."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import LocalError
from rookery.lake.engine import damaged_files
from rookery.lake.engine.delta import Lake
from rookery.lake.landing.lander import Lander
from rookery.lake.schema import landing
from tests.lake import spools

TABLE = landing.DEVICE_REPORTS


@pytest.fixture
def file(lake: Lake, tmp_path: Path) -> Path:
    """As the lander writes them."""
    spools.write_segment(tmp_path / "spool", 1, [spools.record(1)] * 500)
    Lander(lake, tmp_path / "spool", "hub").run()
    return Path(lake.files(TABLE)[0])


def test_whole_files_are_sound_and_readable(file: Path) -> None:
    for check in (damaged_files.sound, damaged_files.readable):
        assert check([str(file)]) == ([str(file)], [])
        assert check([str(file)], TABLE) == ([str(file)], [])


@pytest.mark.parametrize("keep", [0, 3, 100, -1, -9])
def test_a_truncated_file_has_no_footer(file: Path, keep: int) -> None:
    broken = file.with_name("broken.parquet")
    broken.write_bytes(file.read_bytes()[:keep])
    good, ((uri, reason),) = damaged_files.sound([str(broken), str(file)], TABLE)
    assert good == [str(file)]
    assert uri == str(broken)
    assert reason


def test_a_file_that_is_gone_or_something_else_is_not_sound(file: Path) -> None:
    gone, other = file.with_name("gone.parquet"), file.with_name("other.parquet")
    other.write_text("not a table at all, but long enough to be one")
    good, bad = damaged_files.sound([str(gone), str(other)])
    assert good == []
    assert [uri for uri, _ in bad] == [str(gone), str(other)]
    assert bad[0][1] == "the file is gone"


def test_damage_between_its_ends_shows_when_it_is_read(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4:200] = bytes(196)
    file.write_bytes(data)
    assert damaged_files.sound([str(file)]) == ([str(file)], [])
    good, ((uri, reason),) = damaged_files.readable([str(file)])
    assert (good, uri) == ([], str(file))
    assert reason


def test_columns_of_another_type_are_said(tmp_path: Path) -> None:
    path = str(tmp_path / "drifted.parquet")
    rows = pa.table({"position": pa.array([1], pa.int64()), "load": ["high"]})
    pq.write_table(rows, path)
    assert damaged_files.sound([path]) == ([path], [])
    assert damaged_files.sound([path], TABLE) == ([], [(path, "column load is string, not double")])
    inner = pa.array([[{"peer": 1}]], pa.list_(pa.struct([("peer", pa.int64())])))
    pq.write_table(pa.table({"links": inner}), path)
    ((_, reason),) = damaged_files.readable([path], TABLE)[1]
    assert reason.startswith("column links is list")


def test_columns_that_are_missing_or_more_are_no_damage(tmp_path: Path) -> None:
    path = str(tmp_path / "older.parquet")
    inner = pa.array([[{"peer": "a", "colour": "red"}]])
    pq.write_table(pa.table({"load": [0.5], "links": inner, "colour": ["red"]}), path)
    assert damaged_files.sound([path], TABLE) == ([path], [])


def test_a_disk_that_does_not_answer_is_no_fault_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="cannot be fetched"):
        damaged_files.sound([str(tmp_path)])  # a folder opens, and cannot be read
