"""P2, P3: a spool comes into the lake, each observation once, whatever happens on the way."""

import fcntl
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from rookery.errors import LocalError, UsageError
from rookery.lake.engine.delta import CommitClaim, ConflictError, Lake
from rookery.lake.landing import lander
from rookery.lake.landing.lander import Lander, LandingTotals
from rookery.lake.schema import landing, quarantine
from rookery.lake.schema.table import Table
from rookery.store.spool import watermark
from rookery.store.spool.segment import Segment, frame, segments
from tests.lake import spools

START = 1 << 40


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def sequences(lake: Lake, table: Table = landing.CALLS) -> list[int]:
    found: list[int] = lake.dataset(table).to_table()["sequence"].to_pylist()
    return sorted(found)


def versions(lake: Lake) -> list[int | None]:
    return [lake.version(table) for table in (*landing.TABLES, quarantine.OBSERVATIONS)]


def calls(*numbers: int) -> list[bytes]:
    return [spools.called(number) for number in numbers]


def test_every_kind_lands_once_and_a_second_run_changes_nothing(lake: Lake, spool: Path) -> None:
    records = [spools.record(kind) for kind in sorted(spools.STRUCTS)]
    end = spools.write_segment(spool, START, [*records, b"bad", *records])
    total = Lander(lake, spool, "hub").run()
    assert total == LandingTotals(rows=22, quarantined=1, batches=1, position=end, until=end)
    assert watermark.read(spool) == end
    before = versions(lake)
    for table in landing.TABLES:
        assert lake.rows(table) == 2
        assert lake.ingested_version(table, "spool hub") == end
    assert lake.rows(quarantine.OBSERVATIONS) == 1
    assert Lander(lake, spool, "hub").run() == LandingTotals(position=end, until=end)
    assert versions(lake) == before


def test_it_goes_on_where_it_ended(lake: Lake, spool: Path) -> None:
    lander = Lander(lake, spool, "hub")
    first = spools.write_segment(spool, START, calls(1, 2))
    assert lander.run().rows == 2
    spools.write_segment(spool, first, calls(3))
    assert lander.run().rows == 1
    assert sequences(lake) == [1, 2, 3]


def test_batches_are_bounded_and_each_is_reported(lake: Lake, spool: Path) -> None:
    spools.write_segment(spool, START, [*calls(1, 2, 3), spools.linked(1), *calls(4)])
    reports: list[LandingTotals] = []
    lander = Lander(lake, spool, "hub", rows_max=2, progress=reports.append)
    total = lander.run()
    assert [each.rows for each in reports] == [2, 4, 5]
    assert reports[-1] == total
    assert lake.version(landing.CALLS) == 3  # made, and a commit of each batch
    assert lake.version(landing.LINK_SAMPLES) == 1


class FailingLake(Lake):
    """Takes so many commits, then its disk is full."""

    takes = 0

    def commit(self, table: Table, *args: object, **kwargs: object) -> int:
        if not self.takes:
            raise LocalError("no room")
        self.takes -= 1
        return super().commit(table, *args, **kwargs)  # type: ignore[arg-type]


def test_a_crash_between_two_tables_loses_and_doubles_nothing(lake: Lake, spool: Path) -> None:
    end = spools.write_segment(spool, START, [*calls(1, 2), spools.linked(1), b"bad"])
    failing = FailingLake(lake.url)
    for _ in range(2):
        failing.takes = 1
        with pytest.raises(LocalError, match="no room"):
            Lander(failing, spool, "hub").run()
        assert watermark.read(spool) is None
    spools.write_segment(spool, end, calls(3))  # so that the batch ends elsewhere now
    assert Lander(lake, spool, "hub").run()[:2] == (1, 1)
    assert sequences(lake) == [1, 2, 3]
    assert sequences(lake, landing.LINK_SAMPLES) == [1]
    assert lake.rows(quarantine.OBSERVATIONS) == 1


def test_a_mark_that_is_gone_costs_time_and_nothing_else(lake: Lake, spool: Path) -> None:
    spools.write_segment(spool, START, calls(1, 2))
    Lander(lake, spool, "hub").run()
    before = versions(lake)
    (spool / "landed").unlink()
    assert Lander(lake, spool, "hub").run().rows == 0
    assert versions(lake) == before
    (spool / "landed").write_text("elsewhere")
    with pytest.raises(UsageError, match="holds no position"):
        Lander(lake, spool, "hub").run()


def test_another_lake_gets_what_the_spool_still_has(
    lake: Lake, spool: Path, tmp_path: Path
) -> None:
    spools.write_segment(spool, START, calls(1, 2))
    Lander(lake, spool, "hub").run()
    other = Lake(str(tmp_path / "other"))
    Lander(other, spool, "hub").run()
    assert sequences(other) == sequences(lake) == [1, 2]


def test_a_spool_that_was_set_back_is_not_taken_for_the_one_it_was(
    lake: Lake, spool: Path, tmp_path: Path
) -> None:
    """Its next records would come to positions that the lake has, and be left out."""
    spools.write_segment(spool, START, calls(1))
    shutil.copytree(spool, tmp_path / "copy")
    spools.write_segment(spool, segments(spool)[0].end, calls(2))
    Lander(lake, spool, "hub").run()
    with pytest.raises(UsageError, match="needs another name"):
        Lander(lake, tmp_path / "copy", "hub").run()
    assert Lander(lake, tmp_path / "copy", "hub again").run().rows == 1


def test_the_rest_of_a_damaged_segment_is_skipped_and_counted(lake: Lake, spool: Path) -> None:
    second = spools.write_segment(spool, START, calls(1, 2, 3))
    end = spools.write_segment(spool, second, calls(4))
    path = segments(spool)[0].path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    lost = len(frame(calls(3)))
    total = Lander(lake, spool, "hub").run()
    assert total == LandingTotals(3, 0, 1, end, end, damaged_segments=1, skipped_bytes=lost)
    assert sequences(lake) == [1, 2, 4]
    assert Lander(lake, spool, "hub").run().damaged_segments == 0


def test_a_segment_of_nothing_but_damage_is_not_looked_at_again(lake: Lake, spool: Path) -> None:
    second = spools.write_segment(spool, START, calls(1))
    spools.write_segment(spool, second, [])
    path = segments(spool)[0].path
    path.write_bytes(b"?" * path.stat().st_size)
    total = Lander(lake, spool, "hub").run()
    assert (total.rows, total.damaged_segments, total.position) == (0, 1, second)
    assert watermark.read(spool) == second


def test_a_record_that_is_being_written_waits_for_its_end(lake: Lake, spool: Path) -> None:
    spools.write_segment(spool, START, calls(1))
    path = segments(spool)[0].path
    torn = frame(calls(2))
    with path.open("ab") as file:
        file.write(torn[:-3])
    lander = Lander(lake, spool, "hub")
    assert lander.run().rows == 1
    assert lander.run() == LandingTotals(
        position=segments(spool)[0].end - len(torn) + 3, until=segments(spool)[0].end
    )
    with path.open("ab") as file:
        file.write(torn[-3:])
    assert lander.run().rows == 1
    assert sequences(lake) == [1, 2]


def test_only_one_at_a_time_lands_a_spool(lake: Lake, spool: Path) -> None:
    spools.write_segment(spool, START, calls(1))
    descriptor = os.open(spool / "landing.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match="another process lands"):
        Lander(lake, spool, "hub").run()
    os.close(descriptor)
    assert Lander(lake, spool, "hub").run().rows == 1


def test_two_copies_of_a_spool_are_one(lake: Lake, spool: Path, tmp_path: Path) -> None:
    """As on two machines, where a lock of the system says nothing."""
    spools.write_segment(spool, START, [*calls(*range(40)), *map(spools.linked, range(40))])
    copy = tmp_path / "copy"
    shutil.copytree(spool, copy)
    landers = [Lander(Lake(lake.url), each, "hub", rows_max=7) for each in (spool, copy)]
    with ThreadPoolExecutor(2) as pool:
        totals = list(pool.map(Lander.run, landers))
    assert sum(each.rows for each in totals) == 80
    assert sequences(lake) == sequences(lake, landing.LINK_SAMPLES) == list(range(40))


def test_two_hubs_landing_at_once_lose_nothing(lake: Lake, tmp_path: Path) -> None:
    """P3: their commits to the same tables get in each other's way all the time."""
    landers = []
    for name in ("one", "two"):
        spools.write_segment(tmp_path / name, START, calls(*range(40)))
        landers.append(Lander(Lake(lake.url), tmp_path / name, name, rows_max=4))
    with ThreadPoolExecutor(2) as pool:
        totals = list(pool.map(Lander.run, landers))
    assert [each.rows for each in totals] == [40, 40]
    assert sequences(lake) == sorted([*range(40)] * 2)


class ContestedLake(Lake):
    """Somebody is always faster."""

    def append(
        self,
        table: Table,
        rows: pa.Table,
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> int:
        raise ConflictError("too late")


def test_a_lander_that_always_conflicts_gives_up(lake: Lake, spool: Path) -> None:
    spools.write_segment(spool, START, calls(1))
    with pytest.raises(LocalError, match="too many others"):
        Lander(ContestedLake(lake.url), spool, "hub").run()
    assert watermark.read(spool) is None


def test_a_folder_that_is_none_is_said(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no spool in"):
        Lander(lake, tmp_path / "nowhere", "hub").run()


def test_an_empty_spool_is_nothing(lake: Lake, spool: Path) -> None:
    spool.mkdir()
    assert Lander(lake, spool, "hub").run() == LandingTotals()
    assert versions(lake) == [None] * 12


def test_a_segment_that_its_writer_drops_meanwhile_is_not_missed(
    lake: Lake, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = spools.write_segment(spool, 1 << 40, [spools.called(1)])
    Lander(lake, spool, "hub").run()
    drops = [segments(spool)[-1].path]
    spools.write_segment(spool, end, [spools.called(2)])

    def a_moment_ago(folder: Path) -> list[Segment]:
        if not drops:
            return segments(folder)
        found = [each for each in segments(folder) if each.path in drops]
        drops.pop().unlink()
        return found

    monkeypatch.setattr(lander, "segments", a_moment_ago)
    assert Lander(lake, spool, "hub").run().rows == 1
