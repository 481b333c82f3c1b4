"""A small history, landed once for all tests of a worker. Nobody may write into its lake.

A test that needs more tables copies the folder, or reads its landing rows from here and writes
elsewhere: `world.rows("device_reports")` is an Arrow table.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rookery.lake.engine.delta import Lake
from rookery.lake.schema.catalog import BY_PATH
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.ground_truth import GroundTruth
from rookery.lake.synthetic.landing import land

SMALL = SyntheticDataset(seed=1, days=3, routers=24, servers=4, nodes=20, realms=2, interval_s=60)


class World(NamedTuple):
    """What was generated, where it landed and what is true of it."""

    history: SyntheticDataset
    truths: GroundTruth
    lake: Lake

    def rows(self, name: str) -> pa.Table:
        """A landing table by its name."""
        return self.lake.dataset(BY_PATH[f"landing/{name}"]).to_table()


def landed_world(folder: Path, history: SyntheticDataset = SMALL) -> World:
    """Land it below the folder."""
    lake = Lake(str(folder / "lake"))
    land(history, lake)
    return World(history, GroundTruth(history), lake)


@cache
def truths() -> GroundTruth:
    """Of the small history, without landing it."""
    return GroundTruth(SMALL)
