"""A small history, landed once for all tests of a worker. Nobody may write into its lake.

A test that needs more tables copies the folder, or reads its landing rows from here and writes
elsewhere: `world.rows("device_reports")` is an Arrow table.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rookery.lake.delta import Lake
from rookery.lake.history.history import History
from rookery.lake.history.landed import land
from rookery.lake.history.truths import Truths
from rookery.lake.schema.catalog import BY_PATH

SMALL = History(seed=1, days=3, routers=24, servers=4, nodes=20, realms=2, interval_s=60)


class World(NamedTuple):
    """What was generated, where it landed and what is true of it."""

    history: History
    truths: Truths
    lake: Lake

    def rows(self, name: str) -> pa.Table:
        """A landing table by its name."""
        return self.lake.dataset(BY_PATH[f"landing/{name}"]).to_table()


def landed_world(folder: Path, history: History = SMALL) -> World:
    """Land it below the folder."""
    lake = Lake(str(folder / "lake"))
    land(history, lake)
    return World(history, Truths(history), lake)


@cache
def truths() -> Truths:
    """Of the small history, without landing it."""
    return Truths(SMALL)
