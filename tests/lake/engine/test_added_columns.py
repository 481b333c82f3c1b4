"""A lake of a version that had fewer columns: it is read, and takes new rows."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from rookery.lake.engine.delta import Lake
from rookery.lake.query.lake_query import LakeQuery
from rookery.lake.schema import clean, landing
from rookery.lake.schema.table import Table

AT = datetime(2026, 11, 4, 12, tzinfo=UTC)
ROW = {"spool": "hub", "received_at": AT, "reporter": "02:fc:00:00:00:01", "date": AT.date()}


def rows(table: Table, **values: object) -> pa.Table:
    row = ROW | values
    return pa.Table.from_pylist([{name: row.get(name) for name in table.arrow.names}], table.arrow)


@pytest.mark.parametrize("table", [landing.DEVICE_REPORTS, clean.DEVICE_REPORTS])
def test_a_table_without_the_newest_field_is_read_and_gets_it(tmp_path: Path, table: Table) -> None:
    former = replace(table, columns=tuple(each for each in table.columns if each.name != "signal"))
    lake = Lake(str(tmp_path / "lake"))
    lake.append(former, rows(former, position=1, temp=40.0), [], {})
    sql = f'SELECT position, temp, signal FROM {table.stage}.device_reports ORDER BY "position"'
    old = {"position": 1, "temp": 40.0, "signal": None}
    assert LakeQuery(lake).answer(sql).rows.to_pylist() == [old]
    lake.append(table, rows(table, position=2, temp=41.0, signal=-52.0), [], {})
    new = {"position": 2, "temp": 41.0, "signal": -52.0}
    assert LakeQuery(lake).answer(sql).rows.to_pylist() == [old, new]
    assert lake.dataset(former).to_table().num_rows == 2  # as programs of before read it
