"""P1, P4: the lake from a notebook, without a JVM and with one."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from rookery.errors import UsageError
from rookery.lake.notebook import open_lake
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.landing import land
from tests.lake.synthetic_world import SyntheticWorld


def test_tables_come_as_sql_and_arrow(synthetic: SyntheticWorld) -> None:
    lake = open_lake(synthetic.lake.url)
    assert {each.table.stage for each in lake.tables()} == {"landing"}
    [(devices,)] = lake.sql(
        "SELECT count(DISTINCT reporter) FROM landing.device_reports"
    ).fetchall()
    assert devices == 24
    dataset = lake.arrow("landing.enrolments")
    assert dataset.count_rows(filter=pc.field("kind") == "server") == 4


def test_the_past_is_the_same_for_all(tmp_path: Path) -> None:
    url = str(tmp_path / "lake")
    lake = open_lake(url).lake
    land(SyntheticDataset(seed=1, days=1, devices=2, nodes=0, interval_s=300), lake)
    then = datetime.now(UTC).isoformat()
    land(SyntheticDataset(seed=2, days=1, devices=3, nodes=0, interval_s=300), lake)
    past = open_lake(url, as_of=then)
    assert past.arrow("landing/enrolments").count_rows() == 6
    assert past.sql("SELECT count(*) FROM landing.enrolments").fetchall() == [(6,)]
    assert open_lake(url).arrow("landing/enrolments").count_rows() == 13


def test_a_table_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table 'x'"):
        open_lake(str(tmp_path)).arrow("x")


@pytest.mark.xdist_group("spark")
def test_tables_come_as_frames(spark: SparkSession, synthetic: SyntheticWorld) -> None:
    frame = open_lake(synthetic.lake.url).spark("landing/enrolments", spark)
    assert frame.where("kind = 'router'").count() == 24
