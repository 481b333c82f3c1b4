"""The lake's bench: its peers do the same work, and what it says can be read."""

from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from bench import lake, lake_history, lake_work
from bench.lake import Engine, Size, Spark
from bench.lake_work import Done, Made, Work
from bench.table import table as printed
from rookery.lake.engine.delta import Lake
from rookery.lake.schema.landing import DEVICE_REPORTS
from rookery.lake.synthetic.dataset import SyntheticDataset

LITTLE = SyntheticDataset(days=2, devices=4)
ALL = Done({}, {each.path: 1 for each in lake_work.TABLES}, 2.0)


def made(work: lake_work.Engine, lake_url: str, folder: Path) -> list[Made]:
    folder.mkdir()
    ours, theirs = Pipe()
    work(theirs, Work(lake_url, str(folder)))
    theirs.close()
    found = []
    while True:
        try:
            found.append(ours.recv())
        except EOFError:
            return found


def test_duckdb_and_polars_find_the_same_and_hours_are_kept_back(tmp_path: Path) -> None:
    """P4: rows a second mean something only where all count the same rows."""
    before, hours = lake_history.landed(tmp_path / "history", LITTLE)
    assert len(hours) == lake_history.HOURS
    for hour in hours:
        assert 4 * 30 < hour.rows(DEVICE_REPORTS) < 4 * 120
    duck, polars = (
        lake_work.done(made(engine, before.url, tmp_path / engine.__name__))
        for engine in (lake_work.duck, lake_work.polars)
    )
    assert duck.rows == polars.rows
    assert len(duck.rows) == len(lake_work.TABLES)
    assert all(duck.rows.values())


def test_a_history_is_landed_once_and_worked_on_elsewhere(tmp_path: Path) -> None:
    """Every row of it comes in the end, and the next one who takes it finds it as it was."""
    every = sum(rows.num_rows for _, rows in LITTLE.chunks())
    before, hours = lake_history.landed(tmp_path / "history", LITTLE)
    first = lake_history.rows(before)
    working = lake_history.taken(before, tmp_path / "working")
    for hour in hours:
        lake_history.come(hour, working)
    assert lake_history.rows(working) == every
    other = SyntheticDataset(days=2, devices=1)
    again = lake_history.landed(tmp_path / "history", other)
    assert lake_history.rows(again.before) == first
    assert first + sum(lake_history.rows(hour) for hour in again.hours) == every


def test_a_history_that_was_not_finished_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "history.unfinished").mkdir()
    (tmp_path / "history.unfinished" / "before").touch()
    before, _ = lake_history.landed(tmp_path / "history", LITTLE)
    assert before.rows(DEVICE_REPORTS) > 0


def test_duckdb_says_that_its_memory_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _ = lake_history.landed(tmp_path / "history", LITTLE)
    monkeypatch.setattr(lake_work, "MEMORY_MAX", "1MB")
    found = made(lake_work.duck, before.url, tmp_path / "duckdb")
    assert found[-1].rows is None
    assert len(lake_work.done(found).rows) == len(found) - 1


def gluttonous(pipe: Connection, work: Work) -> None:
    pipe.send(Made(lake_work.TABLES[0].path, 1.0, 7))
    hoard = []
    while True:
        hoard.append(b"x" * (64 << 20))


def broken(pipe: Connection, work: Work) -> None:
    raise SystemExit(1)


def test_who_wants_too_much_memory_is_ended_and_the_bench_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake, "MEMORY_MAX_GB", 0.5)
    ended = lake.alone(gluttonous, tmp_path / "polars", Lake(str(tmp_path)))
    assert not ended.is_finished
    assert ended.done.rows == {lake_work.TABLES[0].path: 7}
    assert ended.memory_gb > 0.5


def test_who_ends_for_another_reason_is_not_said_to_lack_memory(tmp_path: Path) -> None:
    with pytest.raises(EOFError):
        lake.alone(broken, tmp_path / "polars", Lake(str(tmp_path)))


def test_figures_say_who_ran_out_of_memory_and_how_time_grows() -> None:
    ended = Engine(lake_work.done([Made(lake_work.TABLES[0].path, 3.0, 5)]), 12.1)
    spark = Spark(Done({"facts/device_rates": 5.0}, ALL.rows, 10.0), (), 3.5)
    small = Size(100, 1, Engine(ALL, 1.0), Engine(ALL, 1.0), spark)
    large = Size(
        900,
        9,
        ended,
        Engine(ALL, 1.0),
        spark._replace(same=ALL._replace(seconds={"clean/device_reports": 70.0}, total_s=100.0)),
    )
    text = printed([*lake.figures(large), lake.linear(large, small)])
    assert "DuckDB: out of memory" in text
    assert f"at {lake_work.TABLES[1].path}, with 3 s" in text
    assert "Polars: out of memory" not in text
    assert "dearest: clean/device_reports, 70 s" in text
    assert "one more hour" not in text
    assert lake.linear(large, small).ratio == pytest.approx(0.9)
