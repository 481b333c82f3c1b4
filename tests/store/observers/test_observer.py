"""P2, P3: what is observed is in the spool, and who observes is never disturbed."""

import errno
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rookery.errors import UsageError
from rookery.fleet.entry import server_id
from rookery.identity.hashname import hashname
from rookery.store.observers.observer import BUFFERED_MAX, Observer, ObserverLimits
from rookery.store.spool import watermark
from rookery.store.spool.reader import SpoolReader
from rookery.store.spool.segment import SegmentFile
from rookery.wire import observation_content
from rookery.wire.observation import LINK, Observation
from rookery.wire.observation_content import LinkSample
from tests.hub.device import until

HASHNAME = hashname({0x3A: bytes(32)})
SMALL = ObserverLimits(bytes_max=6000, segment_bytes=1000)


def sample(number: int) -> LinkSample:
    return LinkSample(t=number, realm="r", node=HASHNAME, peer="p" * 52, is_up=True)


def kept(data: Path) -> list[Observation]:
    return [Observation.parse(each.data) for each in SpoolReader(data / "spool")]


async def test_an_observation_has_boot_and_sequence(tmp_path: Path) -> None:
    for _ in range(2):
        async with await Observer.open(tmp_path, HASHNAME) as observer:
            for number in range(3):
                observer.note(sample(number))
            await until(lambda: observer.kept == 3)
    found = kept(tmp_path)
    assert {each.sender for each in found} == {server_id(HASHNAME)}
    assert [each.sequence for each in found] == [1, 2, 3, 1, 2, 3]
    assert len({each.boot for each in found}) == 2
    for each in found:
        said = observation_content.decode(each.kind, each.content)
        assert isinstance(said, LinkSample)
        assert (each.kind, said.b, said.n) == (LINK, each.boot, each.sequence)
        assert said == msgspec.structs.replace(sample(said.t), b=said.b, n=said.n)
    assert (tmp_path / "spool.name").read_text()


async def test_what_comes_too_fast_is_counted_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = ObserverLimits(per_s=0.001, burst=10)
    async with await Observer.open(tmp_path, HASHNAME, limits) as observer:
        for number in range(25):
            observer.note(sample(number))
        observer.note(sample(0))
    assert len(kept(tmp_path)) == 10
    assert observer.lost == {"too fast": 16}
    assert "16 observations were not kept: too fast 16" in caplog.messages


async def test_a_disk_that_hangs_costs_no_memory(tmp_path: Path) -> None:
    """While one write lasts, no other begins."""
    limits = ObserverLimits(per_s=1e6, burst=1e6)
    async with await Observer.open(tmp_path, HASHNAME, limits) as observer:
        for number in range(BUFFERED_MAX + 7):
            observer.note(sample(number))
    assert observer.lost == {"disk too slow": 7}
    assert observer.kept == BUFFERED_MAX


async def test_what_is_too_large_is_counted(tmp_path: Path) -> None:
    async with await Observer.open(tmp_path, HASHNAME) as observer:
        observer.note(msgspec.structs.replace(sample(1), peer="p" * 5000))
    assert observer.lost == {"too large": 1}


async def test_without_a_lander_the_spool_is_a_ring(tmp_path: Path) -> None:
    async with await Observer.open(tmp_path, HASHNAME, SMALL) as observer:
        for number in range(200):
            observer.note(sample(number))
            await observer.write()
    numbers = [each.sequence for each in kept(tmp_path)]
    assert numbers == list(range(201 - len(numbers), 201))
    assert 10 < len(numbers) < 100
    assert not observer.lost


async def test_nothing_is_removed_that_has_not_landed(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    watermark.save(tmp_path / "spool", 0)
    async with await Observer.open(tmp_path, HASHNAME, SMALL) as observer:
        for number in range(200):
            observer.note(sample(number))
            await observer.write()
        count = observer.kept
        assert observer.lost == {"no room": 200 - count}
    assert [each.sequence for each in kept(tmp_path)] == list(range(1, count + 1))
    watermark.save(tmp_path / "spool", list(SpoolReader(tmp_path / "spool"))[-1].position)
    async with await Observer.open(tmp_path, HASHNAME, SMALL) as observer:
        observer.note(sample(1))
    assert observer.kept == 1
    assert len(kept(tmp_path)) < count


async def test_a_mark_that_is_none_keeps_everything(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "landed").write_text("here")
    async with await Observer.open(tmp_path, HASHNAME, SMALL) as observer:
        for number in range(200):
            observer.note(sample(number))
            await observer.write()
    assert kept(tmp_path)[0].sequence == 1
    assert observer.lost["no room"] > 0


async def test_a_failing_disk_is_counted_and_blocks_no_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Observer.open(tmp_path, HASHNAME) as observer:
        for number in (errno.EIO, errno.ENOSPC, 0):
            with monkeypatch.context() as patch:
                if number:
                    patch.setattr(SegmentFile, "append", _failing(number))
                observer.note(sample(1))
                await observer.write()
    assert observer.lost == {"disk failed": 1, "no room": 1}
    assert [each.sequence for each in kept(tmp_path)] == [3]


def _failing(number: int) -> Callable[[SegmentFile, bytes], None]:
    def append(self: SegmentFile, data: bytes) -> None:
        raise OSError(number, "of no use")

    return append


async def test_a_folder_that_another_has_is_refused(tmp_path: Path) -> None:
    async with await Observer.open(tmp_path, HASHNAME):
        with pytest.raises(UsageError, match="another process"):
            await Observer.open(tmp_path, HASHNAME)
