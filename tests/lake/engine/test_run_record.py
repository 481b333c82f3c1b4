"""How the last run went, for whoever asks later."""

from pathlib import Path

import pytest

from rookery.errors import LocalError
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.run_record import FOLDER, SIZE, RunRecord, read, save

FAILED = RunRecord(ended_at=20.0, ok=False, step="facts/x", error="no room", log="/l", host="h")


def test_a_run_that_failed_tells_how_it_was_before(lake: Lake) -> None:
    assert read(lake) is None
    save(lake, RunRecord(ended_at=10.0, ok=True, run="a"))
    for failures in (1, 2):
        save(lake, FAILED)
        last = read(lake)
        assert last is not None
        assert (last.ok, last.ok_at, last.failures) == (False, 10.0, failures)
        assert (last.step, last.error, last.log, last.host) == ("facts/x", "no room", "/l", "h")
    save(lake, RunRecord(ended_at=30.0, ok=True, run="b"))
    last = read(lake)
    assert last is not None
    assert (last.ok, last.ok_at, last.failures, last.error) == (True, 30.0, 0, "")


def test_an_error_of_any_length_is_kept_short(lake: Lake) -> None:
    save(lake, RunRecord(ended_at=20.0, ok=False, error="x" * 10_000))
    last = read(lake)
    assert last is not None
    assert len(last.error) == 1000
    assert (Path(lake.url) / FOLDER / "last.json").stat().st_size == SIZE


def test_what_cannot_be_understood_is_no_record(lake: Lake) -> None:
    save(lake, FAILED)
    (Path(lake.url) / FOLDER / "last.json").write_text("{")
    assert read(lake) is None
    save(lake, FAILED)
    assert read(lake) is not None


def test_a_lake_that_takes_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("no folder")
    with pytest.raises(LocalError, match="cannot be"):
        save(Lake(str(tmp_path / "lake")), FAILED)
