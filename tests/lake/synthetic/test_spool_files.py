"""P2, P3: a dataset that went through spools and the lander equals the generated one."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from rookery.lake.engine.delta import Lake
from rookery.lake.landing.lander import Lander
from rookery.lake.schema import landing, quarantine
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.ground_truth import GroundTruth
from rookery.lake.synthetic.spool_files import write_spools
from rookery.store.spool.name import SPOOL, spool_name
from tests.lake.synthetic.test_dataset import whole

PLACE = ["position", "date"]  # others, and the second follows from received_at


async def test_spools_hold_what_landing_rows_say(tmp_path: Path) -> None:
    dataset = SyntheticDataset(days=1, devices=24, nodes=10, realms=1, interval_s=300, poison=0.01)
    counts = await write_spools(dataset, tmp_path / "spools")
    lake = Lake(str(tmp_path / "lake"))
    for name, count in counts.items():
        data = tmp_path / "spools" / name
        landed = Lander(lake, data / SPOOL, spool_name(data)).run()
        assert landed.rows + landed.quarantined == count
    expected = whole(dataset)
    refused = lake.dataset(quarantine.OBSERVATIONS).to_table()
    # The wire's own bounds refuse all poison.
    assert refused.num_rows >= len(GroundTruth(dataset).poisoned()) > 0
    for table in landing.TABLES:
        found = lake.dataset(table).to_table()
        wanted = expected[table.name]
        if table is landing.DEVICE_REPORTS:
            wanted = without(wanted, GroundTruth(dataset))
        assert in_order(found).equals(in_order(wanted)), table.name


def without(reports: pa.Table, truth: GroundTruth) -> pa.Table:
    poisoned = truth.poisoned()
    report_ids = zip(
        *(reports[name].to_pylist() for name in ("reporter", "boot", "sequence")), strict=True
    )
    return reports.filter(pa.array([each not in poisoned for each in report_ids]))


def in_order(rows: pa.Table) -> pa.Table:
    keys = [("spool", "ascending"), ("received_at", "ascending"), ("reporter", "ascending")]
    more = [("sequence", "ascending"), ("boot", "ascending")]
    order = pc.sort_indices(rows, [*keys, *more])
    return rows.take(order).drop_columns(PLACE).combine_chunks()
