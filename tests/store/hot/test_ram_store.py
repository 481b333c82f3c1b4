"""The hot store in memory: bounds, expiry by the clock, and its snapshot (F13)."""

import asyncio
import os
from pathlib import Path

import pytest

from rookery.store.hot import snapshot
from rookery.store.hot.hot_store import STEPS_KEPT_S
from rookery.store.hot.ram_store import RamHotStore
from tests.store.records import entry, sender, step, until, wish


class Clock:
    """Told, not read."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_entries_are_the_ones_that_were_put() -> None:
    """No copies: a batch of reports changes them in place."""
    hot, ours = RamHotStore(), entry(1)
    await hot.put([ours])
    (held,) = await hot.entries([ours.sender])
    assert held is ours


async def test_unknown_senders_fill_a_bounded_part() -> None:
    hot = RamHotStore(entries_max=2)
    assert await hot.put([entry(1), entry(2), entry(3)]) == [True, True, False]
    (held,) = await hot.entries([sender(1)])
    assert held is not None
    assert await hot.put([held]) == [True]


async def test_calls_do_not_yield_to_other_tasks() -> None:
    """So no other task comes between reading an entry and putting it back."""
    hot = RamHotStore()
    others: list[str] = []
    asyncio.get_running_loop().call_soon(others.append, "somebody else")
    await hot.put([entry(1)])
    await hot.entries([sender(1)])
    await hot.wishes([sender(1)])
    assert others == []


async def test_steps_are_kept_for_a_while_after_the_last() -> None:
    clock = Clock()
    hot = RamHotStore(clock=clock)
    ours = await hot.add_wish(wish(1, sender(1)), 10)
    await hot.add_step(step(ours, "wished"))
    await hot.add_step(step(ours, "failed"))
    clock.now += STEPS_KEPT_S - 1
    assert await hot.wish(ours.id) is None
    assert len([one async for one in hot.steps(ours.id)]) == 2
    clock.now += 2
    assert [one async for one in hot.steps(ours.id)] == []


async def test_the_snapshot_is_written_at_the_end_and_read_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "hot.snapshot"
    hot = await RamHotStore.open(file)
    ours = [entry(number, kind="server" if number % 2 else "router") for number in range(2500)]
    await hot.put(ours)
    await hot.close()
    again = await RamHotStore.open(file)
    assert await again.entries([one.sender for one in ours]) == ours
    assert len(await again.all("server")) == 1250
    await again.close()


async def test_the_snapshot_is_written_now_and_then(tmp_path: Path) -> None:
    file = tmp_path / "hot.snapshot"
    hot = await RamHotStore.open(file, interval_s=0.02)
    await hot.put([entry(1)])

    async def is_written() -> bool:
        return file.exists() and len(snapshot.load(file)) == 1

    await until(is_written)
    await hot.close()
    assert os.listdir(tmp_path) == ["hot.snapshot"]


@pytest.mark.parametrize("damage", ["cut", "flip", "version", "foreign", "empty", "folder"])
async def test_a_damaged_snapshot_is_reported_and_ignored(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "hot.snapshot"
    data = bytearray(snapshot.serialize([snapshot.frame([entry(1), entry(2)])]))
    match damage:
        case "cut":
            del data[-1]
        case "flip":
            data[60] ^= 1
        case "version":
            data[5] = 99
        case "foreign":
            data[:] = b"something else"
        case "empty":
            data.clear()
    if damage == "folder":
        file.mkdir()
    else:
        file.write_bytes(data)
    hot = await RamHotStore.open(file)
    assert await hot.entries([sender(1)]) == [None]
    assert "is ignored" in caplog.text
    await hot.put([entry(1)])
    await hot.close()


def test_frames_that_hold_no_entries_are_no_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "hot.snapshot"
    file.write_bytes(snapshot.serialize([snapshot.frame([1, 2])]))  # type: ignore[list-item]
    assert snapshot.load(file) == []


async def test_a_disk_that_refuses_the_snapshot_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    hot = await RamHotStore.open(folder / "hot.snapshot")
    folder.rmdir()
    await hot.close()
    assert "no snapshot at" in caplog.text
