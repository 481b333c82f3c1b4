"""The demo's lake tries again; here its past, which needs no Spark."""

import asyncio
import time
from pathlib import Path

import pytest

from rookery.cli.demo import pipeline
from rookery.cli.demo.folder import DemoFolder
from rookery.cli.demo.members import make_members
from rookery.cli.demo.pipeline import DemoPipeline
from rookery.cli.demo.synthetic_data import write_roster

WITHIN_S = 120.0  # of a loaded machine


def wait_for_the_past(log: Path) -> None:
    deadline = time.monotonic() + WITHIN_S
    while "rows of the past" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


async def test_a_failed_step_is_reported_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "AGAIN_S", 0.1)
    folder = DemoFolder(tmp_path)
    (tmp_path / "logs").mkdir()
    write_roster(folder, await make_members(folder))
    folder.lake.write_text("in the way of a folder")
    remarks: asyncio.Queue[str] = asyncio.Queue()
    lake = DemoPipeline(
        folder, [], days=1, every="45s", tell=lambda kind, values: None, say=remarks.put_nowait
    )
    async with asyncio.timeout(WITHIN_S), asyncio.TaskGroup() as tasks:
        working = tasks.create_task(lake.run(asyncio.Event()))
        line = await remarks.get()
        assert line.startswith("the lake stopped: past has ended with exit code 3: landing/")
        assert f"; see {folder.log('lake')}; it is started again in 0.1 s" in line
        folder.lake.unlink()
        await asyncio.to_thread(wait_for_the_past, folder.log("lake"))
        working.cancel()
