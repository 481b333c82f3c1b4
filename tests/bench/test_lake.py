"""The lake's bench: its peers do the same work, and what it says can be read."""

from multiprocessing import Pipe
from pathlib import Path

from bench import lake, lake_work
from bench.lake_work import Done, Work
from rookery.lake.delta import Lake
from rookery.lake.history.history import History
from rookery.lake.schema.landing import DEVICE_REPORTS


def test_duckdb_and_polars_find_the_same_and_hours_are_kept_back(tmp_path: Path) -> None:
    """P4: rows a second mean something only where all count the same rows."""
    landed = Lake(str(tmp_path / "lake"))
    rest = lake.land(History(days=2, routers=4), landed)
    assert len(rest) == lake.HOURS
    for hour in rest:
        kept = sum(rows.num_rows for table, rows in hour if table == DEVICE_REPORTS)
        assert 4 * 30 < kept < 4 * 120
    found = []
    for engine in (lake_work.duck, lake_work.polars):
        folder = tmp_path / engine.__name__
        folder.mkdir()
        ours, theirs = Pipe()
        engine(theirs, Work(landed.url, str(folder)))
        done = ours.recv()
        assert isinstance(done, Done)
        found.append(done.rows)
    assert found[0] == found[1]
    assert all(found[0].values())
