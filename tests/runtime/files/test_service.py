"""The service `files` and members that do not keep to the rules."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import UnreachableError
from rookery.mesh.files.fault import FileFault
from rookery.runtime.files.copy import put
from rookery.runtime.files.service import FileLimits, FileService
from rookery.runtime.files.transfer import FrameStream
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.file_frames import (
    Message,
    TransferFailed,
    TransferHave,
    TransferStart,
    TransferStored,
    TransferWhole,
    data_header,
    message_frame,
)
from tests.patience import PATIENCE_S
from tests.runtime.files.copies import LIMITS, Bob, digest, nobody, place, serving
from tests.runtime.proxy.town import ALICE, CAROL, MemoryStream


@pytest.fixture
async def bob(tmp_path: Path) -> AsyncIterator[Bob]:
    async with serving(tmp_path) as bob:
        yield bob


def asking_to_put(size: int, name: str = "a") -> JsonObject:
    return {"do": "put", "path": f"inbox/{name}", "size": size}


async def answer(stream: MemoryStream) -> Message:
    async with asyncio.timeout(PATIENCE_S):
        frame = await FrameStream(stream).next()
        assert not isinstance(frame, bytes)
        return frame


async def said(stream: MemoryStream, *data: bytes) -> Message:
    """What comes back after the receiver has said what it has."""
    assert isinstance(await answer(stream), TransferHave)
    for piece in data:
        await stream.write(piece)
    return await answer(stream)


async def test_more_bytes_than_announced_are_cut_off(bob: Bob) -> None:
    stream = bob.stream(asking_to_put(3))
    pieces = [message_frame(TransferStart(3, 0)), data_header(9), b"ninebytes"]
    assert await said(stream, *pieces) == TransferFailed(FileFault.SIZE)
    stream.abort(0)
    await bob.quiet()
    assert not (bob.inbox / "a").exists()
    assert sum(path.stat().st_size for path in bob.inbox.iterdir()) <= 3


async def test_another_size_than_announced_is_refused(bob: Bob) -> None:
    stream = bob.stream(asking_to_put(3))
    assert await said(stream, message_frame(TransferStart(1 << 40, 0))) == TransferFailed(
        FileFault.CHANGED
    )


async def test_a_wrong_digest_is_refused_and_nothing_kept(bob: Bob) -> None:
    stream = bob.stream(asking_to_put(3))
    pieces = [
        message_frame(TransferStart(3, 0)),
        data_header(3) + b"abc",
        message_frame(TransferWhole(digest(b"x"))),
    ]
    assert await said(stream, *pieces) == TransferFailed(FileFault.DIGEST)
    stream.abort(0)
    await bob.quiet()
    assert os.listdir(bob.inbox) == []


async def test_a_member_that_stops_is_cut_off_and_may_resume_later(tmp_path: Path) -> None:
    async with serving(tmp_path, FileLimits(reserve_size=0, idle_s=0.2)) as bob:
        stream = bob.stream(asking_to_put(3))
        pieces = [message_frame(TransferStart(3, 0)), data_header(3) + b"ab"]
        assert await said(stream, *pieces) == TransferFailed(FileFault.TIMEOUT)
        stream.abort(0)
        await bob.quiet()
        assert (bob.inbox / ".a.part").read_bytes() == b"ab"


async def test_a_member_that_does_not_read_is_cut_off(tmp_path: Path) -> None:
    async with serving(tmp_path, FileLimits(reserve_size=0, idle_s=0.2)) as bob:
        (bob.docs / "a").write_bytes(os.urandom(1 << 20))
        bob.stream({"do": "get", "path": "docs/a", "have": 0, "digest": digest(b"")})
        await bob.quiet()
        assert bob.service.refused[FileFault.TIMEOUT] == 1


@pytest.mark.parametrize(
    "said_instead",
    [b"\x07\x00\x00\x00\x01x", message_frame(TransferStored()), data_header(1) + b"x"],
)
async def test_nonsense_is_refused(bob: Bob, said_instead: bytes) -> None:
    stream = bob.stream(asking_to_put(3))
    assert await said(stream, said_instead) == TransferFailed(FileFault.INVALID)


@pytest.mark.parametrize(
    ("meta", "fault"),
    [
        ({}, FileFault.INVALID),
        ({"do": "put", "path": "inbox/a"}, FileFault.INVALID),
        ({"do": "put", "path": "inbox/../a", "size": 1}, FileFault.PATH),
        ({"do": "put", "path": "/etc/passwd", "size": 1}, FileFault.PATH),
        ({"do": "put", "path": "inbox/.a.part", "size": 1}, FileFault.PATH),
        ({"do": "put", "path": "inbox/a\0b", "size": 1}, FileFault.PATH),
        ({"do": "put", "path": "etc/passwd", "size": 1}, FileFault.FOLDER),
        ({"do": "put", "path": "docs/a", "size": 1}, FileFault.READ_ONLY),
    ],
)
async def test_what_is_asked_wrongly_is_refused(
    bob: Bob, meta: JsonObject, fault: FileFault
) -> None:
    assert await answer(bob.stream(meta)) == TransferFailed(fault)
    assert bob.service.refused[fault] == 1


async def test_copies_are_bounded_by_member_and_in_all(tmp_path: Path) -> None:
    limits = FileLimits(member_copies_max=2, copies_max=3, reserve_size=0)
    async with serving(tmp_path, limits) as bob:
        for number in range(2):
            assert isinstance(await answer(bob.stream(asking_to_put(3, f"{number}"))), TransferHave)
        assert await answer(bob.stream(asking_to_put(3, "x"))) == TransferFailed(FileFault.BUSY)
        assert isinstance(await answer(bob.stream(asking_to_put(3, "y"), CAROL)), TransferHave)
        assert await answer(bob.stream(asking_to_put(3, "z"), "d" * 52)) == TransferFailed(
            FileFault.BUSY
        )


async def test_a_size_that_does_not_fit_is_refused_before_it_is_sent(bob: Bob) -> None:
    size = 1 << 60
    stream = bob.stream(asking_to_put(size))
    assert await said(stream, message_frame(TransferStart(size, 0))) == TransferFailed(
        FileFault.FULL
    )


async def test_a_disk_that_is_full_keeps_what_has_arrived(bob: Bob, tmp_path: Path) -> None:
    """The system says so in the middle: here by a limit on the size of files."""
    local, size = tmp_path / "local", 3 << 20
    local.write_bytes(os.urandom(size))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(UnreachableError, match="no room left"):
            await put(bob.open, local, place("inbox/a"), nobody)
        await bob.quiet()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = (bob.inbox / ".a.part").stat().st_size
    assert 0 < kept <= 1 << 20
    copied = await put(bob.open, local, place("inbox/a"), nobody)
    assert copied.kept == kept
    assert (bob.inbox / "a").read_bytes() == local.read_bytes()


async def test_a_member_that_goes_leaves_its_seat(tmp_path: Path) -> None:
    limits = FileLimits(member_copies_max=1, reserve_size=0)
    async with serving(tmp_path, limits) as bob:
        stream = bob.stream(asking_to_put(3))
        await answer(stream)
        stream.abort(0)
        await bob.quiet()
        assert isinstance(await answer(bob.stream(asking_to_put(3), ALICE)), TransferHave)


async def test_without_folders_everybody_hears_no(tmp_path: Path) -> None:
    async with serving(tmp_path) as bob:
        bob.service = FileService(None, LIMITS)
        assert await answer(bob.stream(asking_to_put(3))) == TransferFailed(FileFault.FOLDER)
