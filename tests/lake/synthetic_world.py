"""A small synthetic dataset, landed once for all tests of a worker; its lake is read only.

A test that needs more tables copies the folder, or reads its landing rows from here and writes
elsewhere: `synthetic.rows("device_reports")` is an Arrow table.
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

SMALL = SyntheticDataset(seed=1, days=3, devices=24, servers=4, nodes=20, realms=2, interval_s=60)


class SyntheticWorld(NamedTuple):
    """A dataset, its ground truth, and the lake with its landing rows."""

    dataset: SyntheticDataset
    truth: GroundTruth
    lake: Lake

    def rows(self, name: str) -> pa.Table:
        """A landing table by its name."""
        return self.lake.dataset(BY_PATH[f"landing/{name}"]).to_table()


def landed_world(folder: Path, dataset: SyntheticDataset = SMALL) -> SyntheticWorld:
    """Land it below the folder."""
    lake = Lake(str(folder / "lake"))
    land(dataset, lake)
    return SyntheticWorld(dataset, GroundTruth(dataset), lake)


@cache
def truth() -> GroundTruth:
    """Of the small dataset, without landing it."""
    return GroundTruth(SMALL)
