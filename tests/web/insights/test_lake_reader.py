"""Pages ask the lake without waiting long, whatever is the matter with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

import pytest

from rookery.errors import CongestionError
from rookery.lake.engine.delta import Lake
from rookery.lake.schema import insights
from rookery.web.insights import lake_reader
from rookery.web.insights.lake_reader import HubLakeReader, LakeUnavailableError
from tests.patience import PATIENCE_S
from tests.web.lake_world import DEVICE_MACS, append

OUTAGES = "SELECT device FROM insights.outages WHERE device = ?"


@asynccontextmanager
async def view(folder: Path) -> AsyncIterator[HubLakeReader]:
    made = HubLakeReader(str(folder))
    try:
        yield made
    finally:
        made.close()


async def test_what_comes_from_outside_is_a_value_and_never_sql(tmp_path: Path) -> None:
    append(Lake(str(tmp_path)), insights.OUTAGES, [{"device": DEVICE_MACS[0]}])
    async with view(tmp_path) as lake:
        assert await lake.rows(OUTAGES, DEVICE_MACS[0]) == [{"device": DEVICE_MACS[0]}]
        assert await lake.rows(OUTAGES, "x' OR '1' = '1") == []
        found = await lake.rows("SELECT date FROM insights.outages WHERE date < ?", date.max)
        assert len(found) == 1


async def test_a_lake_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    async with view(tmp_path / "none") as lake:
        assert await lake.rows(OUTAGES, "x") == []
        assert await lake.freshness() == {}


async def test_a_lake_that_is_half_written_is_one_clear_problem(tmp_path: Path) -> None:
    append(Lake(str(tmp_path)), insights.OUTAGES, [{"device": DEVICE_MACS[0]}])
    for log in (tmp_path / "insights/outages/_delta_log").glob("*.json"):
        log.write_text("{")
    async with view(tmp_path) as lake:
        with pytest.raises(LakeUnavailableError, match="insights/outages cannot be read") as raised:
            await lake.rows(OUTAGES, "x")
    assert raised.value.problem.status == 503


async def test_files_that_are_gone_are_a_problem_and_then_not_any_more(tmp_path: Path) -> None:
    append(Lake(str(tmp_path)), insights.OUTAGES, [{"device": DEVICE_MACS[0]}])
    [file] = (tmp_path / "insights/outages").rglob("*.parquet")
    aside = file.rename(tmp_path / "aside")
    async with view(tmp_path) as lake:
        with pytest.raises(LakeUnavailableError, match="cannot be read"):
            await lake.rows(OUTAGES, DEVICE_MACS[0])
        aside.rename(file)
        assert await lake.rows(OUTAGES, "y") == []


async def test_a_new_commit_is_seen(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    append(lake, insights.OUTAGES, [{"device": DEVICE_MACS[0]}])
    count = "SELECT count(*) AS rows FROM insights.outages"
    async with view(tmp_path) as reader:
        assert await reader.rows(count) == [{"rows": 1}]
        append(lake, insights.OUTAGES, [{"device": DEVICE_MACS[1]}])
        async with asyncio.timeout(PATIENCE_S):
            while await reader.rows(count) != [{"rows": 2}]:  # noqa: ASYNC110 - by its clock
                await asyncio.sleep(0.1)


async def test_freshness_tells_run_rows_and_what_is_behind(tmp_path: Path) -> None:
    append(Lake(str(tmp_path)), insights.OUTAGES, [{"device": DEVICE_MACS[0]}])
    append(Lake(str(tmp_path)), insights.ANOMALIES, [{"kind": "silence"}])
    async with view(tmp_path) as lake:
        fresh = await lake.freshness()
    assert (fresh["insights/outages"].rows, fresh["insights/outages"].behind) == (1, ())
    assert fresh["insights/outages"].run.endswith("c0ffee00")
    assert fresh["insights/anomalies"].behind == ("insights/outages",)


async def test_queries_beyond_the_queue_are_refused_as_busy(tmp_path: Path) -> None:
    async with view(tmp_path) as lake:
        most = lake_reader.CONCURRENT_MAX + lake_reader.WAITING_MAX
        queries = [lake.rows(OUTAGES, str(number)) for number in range(most + 1)]
        found = await asyncio.gather(*queries, return_exceptions=True)
    assert [type(each) for each in found if each != []] == [CongestionError]


async def test_equal_concurrent_queries_run_once(tmp_path: Path) -> None:
    async with view(tmp_path) as lake:
        found = await asyncio.gather(*[lake.rows(OUTAGES, "x") for _ in range(100)])
    assert found == [[]] * 100


async def test_a_hub_without_the_packages_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_reader, "_NEEDED", ("no_such_package",))
    async with view(tmp_path) as lake:
        with pytest.raises(LakeUnavailableError, match=r"rookery\[lake\]"):
            await lake.rows(OUTAGES, "x")
