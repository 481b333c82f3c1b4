"""The spool keeps what it acknowledged: through crashes, full disks and damage (F5)."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from rookery.errors import UsageError
from rookery.store.spool.reader import SpoolReader
from rookery.store.spool.segment import HEADER_SIZE, RECORD_SIZE_MAX, segments
from rookery.store.spool.spool import Spool, SpoolFullError
from tests.patience import PATIENCE_S

KILLS = 20


@pytest.fixture
async def spool(tmp_path: Path) -> AsyncIterator[Spool]:
    opened = await Spool.open(tmp_path / "spool", segment_bytes=4096, group_s=0)
    yield opened
    await opened.close()


async def filled(folder: Path, count: int) -> list[bytes]:
    """A spool of several segments, closed."""
    spool = await Spool.open(folder, segment_bytes=1000, group_s=0)
    records = [b"%06d" % number + bytes(94) for number in range(count)]
    for record in records:
        await spool.durable(spool.append([record]))
    await spool.close()
    return records


async def until_full(spool: Spool) -> int:
    count = 0
    with suppress(SpoolFullError):
        while count < 10_000:
            await spool.durable(spool.append([bytes(100)]))
            count += 1
    return count


def all_records(folder: Path, position: int = 0) -> list[bytes]:
    return [record.data for record in SpoolReader(folder, position)]


async def test_what_is_durable_can_be_read_in_order(spool: Spool) -> None:
    position = spool.append([b"one", b"two"])
    spool.append([b"three"])
    assert list(spool.read()) == []
    await spool.durable(position)
    assert [record.data for record in spool.read()] == [b"one", b"two", b"three"]


async def test_a_reader_goes_on_where_it_was(spool: Spool) -> None:
    await spool.durable(spool.append([b"one", b"two"]))
    first = next(iter(spool.read()))
    await spool.durable(spool.append([b"three"]))
    assert [record.data for record in spool.read(first.position)] == [b"two", b"three"]
    assert list(spool.read(spool.position)) == []


async def test_several_readers_do_not_disturb_each_other(spool: Spool, tmp_path: Path) -> None:
    """One follows while another, as of another process, starts anew."""
    follower = SpoolReader(tmp_path / "spool")
    seen = []
    for number in range(200):
        await spool.durable(spool.append([b"%d" % number * 20]))
        seen += [record.data for record in follower]
        if number % 50 == 0:
            assert len(all_records(tmp_path / "spool")) == number + 1
    assert seen == all_records(tmp_path / "spool")
    assert len(segments(tmp_path / "spool")) > 1


async def test_many_appends_share_one_write(spool: Spool) -> None:
    """A group waits for 20 ms or 256 KB: so the loop appends a lot before anything is durable."""
    positions = [spool.append([b"record"]) for _ in range(1000)]
    async with asyncio.TaskGroup() as tasks:
        for position in positions:
            tasks.create_task(spool.durable(position))
    assert spool.position == positions[-1]
    assert len(list(spool.read())) == 1000


async def test_positions_grow_over_restarts_and_new_folders(tmp_path: Path) -> None:
    first = await Spool.open(tmp_path / "a")
    await first.durable(first.append([b"one"]))
    await first.close()
    again = await Spool.open(tmp_path / "a")
    assert again.position == first.position
    await again.durable(again.append([b"two"]))
    await again.close()
    assert all_records(tmp_path / "a") == [b"one", b"two"]
    await asyncio.sleep(0.002)  # the clock's next tick, which is what is tested
    other = await Spool.open(tmp_path / "b")
    assert other.position > again.position
    await other.close()


async def test_closing_writes_what_is_buffered(tmp_path: Path) -> None:
    spool = await Spool.open(tmp_path)
    spool.append([b"one"])
    await spool.close()
    assert all_records(tmp_path) == [b"one"]


async def test_a_folder_has_one_writer(spool: Spool, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another process"):
        await Spool.open(tmp_path / "spool")


async def test_records_have_a_size(spool: Spool) -> None:
    for record in (b"", bytes(RECORD_SIZE_MAX + 1)):
        with pytest.raises(UsageError, match="a record has"):
            spool.append([b"good", record])
    await spool.durable(spool.append([bytes(RECORD_SIZE_MAX)]))
    assert [len(record.data) for record in spool.read()] == [RECORD_SIZE_MAX]


async def test_trim_removes_whole_segments_and_no_other(tmp_path: Path) -> None:
    records = await filled(tmp_path, 50)
    spool = await Spool.open(tmp_path, segment_bytes=1000)
    middle = list(spool.read())[24].position
    spool.trim(middle)
    left = all_records(tmp_path)
    assert records[-len(left) :] == left
    assert records[25:] == [record.data for record in spool.read(middle)]
    assert 25 <= len(left) < 25 + 10
    spool.trim(spool.position + 10**6)
    await spool.close()
    assert len(segments(tmp_path)) == 1
    reopened = await Spool.open(tmp_path)
    assert reopened.position == spool.position
    await reopened.close()


async def test_a_full_spool_refuses_and_takes_again_after_trim(tmp_path: Path) -> None:
    spool = await Spool.open(tmp_path, segment_bytes=1000, bytes_max=5000, group_s=0)
    count = await until_full(spool)
    assert len(list(spool.read())) == count
    assert sum(one.path.stat().st_size for one in segments(tmp_path)) <= 5000
    assert 40 <= count <= 50
    with pytest.raises(SpoolFullError, match="5000 bytes"):
        spool.append([bytes(100)])
    assert spool.is_full
    spool.trim(spool.position)
    await spool.durable(spool.append([bytes(100)]))
    assert not spool.is_full
    await spool.close()


async def test_a_full_spool_may_drop_its_oldest_segments(tmp_path: Path) -> None:
    spool = await Spool.open(
        tmp_path, segment_bytes=1000, bytes_max=5000, policy="drop_oldest", group_s=0
    )
    numbers = range(200)
    for number in numbers:
        await spool.durable(spool.append([b"%03d" % number + bytes(97)]))
    left = [int(record.data[:3]) for record in spool.read()]
    assert left == list(numbers)[-len(left) :]
    assert spool.dropped_segments > 10
    assert sum(one.path.stat().st_size for one in segments(tmp_path)) <= 5000
    await spool.close()


@pytest.mark.parametrize("cut", [1, 5, 8, 9, 107])
async def test_a_torn_tail_is_cut(tmp_path: Path, cut: int) -> None:
    records = await filled(tmp_path, 5)
    last = segments(tmp_path)[-1].path
    os.truncate(last, last.stat().st_size - cut)
    spool = await Spool.open(tmp_path, segment_bytes=1000)
    assert spool.torn_bytes == 108 - cut
    await spool.durable(spool.append([b"more"]))
    await spool.close()
    assert all_records(tmp_path) == [*records[:-1], b"more"]


@pytest.mark.parametrize("tail", [bytes(300), b"\xff" * 300, bytes([0, 0, 0, 4]) * 30])
async def test_what_a_crash_left_behind_is_no_record(tmp_path: Path, tail: bytes) -> None:
    """File systems may extend a file before its bytes arrive."""
    records = await filled(tmp_path, 5)
    with segments(tmp_path)[-1].path.open("ab") as file:
        file.write(tail)
    spool = await Spool.open(tmp_path)
    assert spool.torn_bytes == len(tail)
    await spool.close()
    assert all_records(tmp_path) == records


async def test_a_crash_while_a_segment_is_made_leaves_a_spool(tmp_path: Path) -> None:
    records = await filled(tmp_path, 5)
    start = segments(tmp_path)[-1].end
    (tmp_path / f"{start:016x}.spool").write_bytes(b"RKS")
    spool = await Spool.open(tmp_path)
    await spool.durable(spool.append([b"more"]))
    await spool.close()
    assert all_records(tmp_path) == [*records, b"more"]


@pytest.mark.parametrize("place", ["header", "length", "record"])
async def test_a_damaged_segment_is_reported_skipped_and_counted(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    records = await filled(tmp_path, 50)
    damaged = segments(tmp_path)[2].path
    data = bytearray(damaged.read_bytes())
    held = (len(data) - HEADER_SIZE) // 108
    offset = {"header": 2, "length": HEADER_SIZE + 108 * 3, "record": HEADER_SIZE + 108 * 3 + 50}
    data[offset[place]] ^= 0x40
    damaged.write_bytes(data)
    reader = SpoolReader(tmp_path)
    read = [record.data for record in reader]
    lost = held if place == "header" else held - 3
    assert len(read) == 50 - lost
    assert read == [record for record in records if record in read]
    assert reader.damaged_segments == 1
    assert reader.skipped_bytes == lost * 108
    assert "is damaged" in caplog.text


async def test_a_damaged_last_header_destroys_nothing_else(tmp_path: Path) -> None:
    records = await filled(tmp_path, 25)
    last = segments(tmp_path)[-1]
    held = (last.end - last.start) // 108
    data = bytearray(last.path.read_bytes())
    data[0] ^= 1
    last.path.write_bytes(data)
    spool = await Spool.open(tmp_path)
    await spool.durable(spool.append([b"more"]))
    await spool.close()
    assert all_records(tmp_path) == [*records[:-held], b"more"]


FULL_DISK = """
import asyncio, resource, sys
from pathlib import Path
from rookery.store.spool.spool import Spool, SpoolFullError

async def main():
    folder = Path(sys.argv[1])
    spool = await Spool.open(folder, policy=sys.argv[2], group_s=0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
    durable = failed = 0
    for number in range(60):
        try:
            await spool.durable(spool.append([b"%03d" % number + bytes(97)]))
            durable += 1
        except SpoolFullError:
            failed += 1
    held = [int(record.data[:3]) for record in spool.read()]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    await spool.durable(spool.append([b"999"]))
    reader = spool.read()
    after = [int(record.data[:3]) for record in reader]
    await spool.close()
    is_whole = after == [*held, 999] and not reader.damaged_segments
    print([durable, failed, len(held), int(is_whole), spool.failed_writes])

asyncio.run(main())
"""


async def test_a_full_disk_is_an_error_and_nothing_else_is_lost(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: each segment fills up, then fails once."""
    durable, failed, held, is_whole, failures = await _full_disk(tmp_path, "refuse")
    assert failed == failures > 0
    assert durable == held == 60 - failed
    assert is_whole


async def test_a_full_disk_may_cost_the_oldest_segments(tmp_path: Path) -> None:
    durable, failed, held, is_whole, _ = await _full_disk(tmp_path, "drop_oldest")
    assert failed <= 1  # there was no older segment to drop
    assert held < durable == 60 - failed
    assert is_whole


async def _full_disk(folder: Path, policy: str) -> list[int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FULL_DISK, str(folder), policy, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 0
    return msgspec.json.decode(out, type=list[int])


VICTIM = """
import asyncio, os, sys
from pathlib import Path
from rookery.store.spool.spool import Spool

async def write(spool, name):
    number = 0
    while True:
        records = [b"%s %d " % (name, number + i) + os.urandom(number % 300) for i in range(7)]
        number += 7
        await spool.durable(spool.append(records))
        os.write(1, b"%s %d\\n" % (name, number - 1))

async def main():
    spool = await Spool.open(Path(sys.argv[1]), segment_bytes=20_000)
    name = sys.argv[2].encode()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write(spool, name + b"a"))
        tasks.create_task(write(spool, name + b"b"))

asyncio.run(main())
"""


async def test_kill_9_loses_no_acknowledged_record(tmp_path: Path) -> None:
    """Each victim goes on in the folder of the one before, and is killed at any moment."""
    chance = random.Random(7)
    acknowledged: dict[str, int] = {}
    for turn in range(KILLS):
        said = await _victim(tmp_path, f"v{turn}", acknowledgements=chance.randrange(1, 6))
        acknowledged |= {name: int(number) for name, number in map(str.split, said)}
    reader = SpoolReader(tmp_path)
    held: dict[str, list[int]] = {}
    for record in reader:
        who, which, _ = record.data.split(b" ", 2)
        held.setdefault(who.decode(), []).append(int(which))
    assert len(acknowledged) >= KILLS
    assert reader.damaged_segments == 0
    for name, number in acknowledged.items():
        assert held[name] == list(range(len(held[name])))
        assert len(held[name]) > number


async def _victim(folder: Path, name: str, *, acknowledgements: int) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", VICTIM, str(folder), name, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    lines = [await process.stdout.readline() for _ in range(acknowledgements)]
    process.send_signal(signal.SIGKILL)
    rest = await asyncio.wait_for(process.stdout.read(), PATIENCE_S)
    await process.wait()
    whole = b"".join(lines) + rest[: rest.rfind(b"\n") + 1]
    return whole.decode().splitlines()
