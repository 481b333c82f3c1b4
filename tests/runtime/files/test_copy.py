"""Copying between members: whole and right, in as many goes as it takes, or a reason."""

# ruff: noqa: ASYNC240  a test may wait for the disk

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import (
    CongestionError,
    DeniedError,
    LocalError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.runtime.files.copy import CopyResult, get, put
from rookery.runtime.files.part_file import SLICE_SIZE
from tests.runtime.files.copies import Bob, digest, nobody, place, serving

BIG = 700_000  # a few blocks, and no multiple of them


@pytest.fixture
async def bob(tmp_path: Path) -> AsyncIterator[Bob]:
    async with serving(tmp_path) as bob:
        yield bob


@pytest.fixture
def local(tmp_path: Path) -> Path:
    path = tmp_path / "local"
    path.write_bytes(os.urandom(BIG))
    return path


async def refused(copy: object, kind: type[LocalError]) -> str:
    with pytest.raises(kind) as caught:
        await copy  # type: ignore[misc]
    return str(caught.value)


async def test_up_and_down(bob: Bob, local: Path, tmp_path: Path) -> None:
    data, progress = local.read_bytes(), list[tuple[int, int]]()
    expected = CopyResult(BIG, 0, digest(data))
    copied = await put(bob.open, local, place("inbox/a"), lambda *step: progress.append(step))
    assert copied == expected
    assert (bob.inbox / "a").read_bytes() == data
    assert progress[0] == (0, BIG)
    assert progress[-1] == (BIG, BIG)
    assert progress == sorted(progress)
    assert await get(bob.open, place("inbox/a"), tmp_path / "back", nobody) == expected
    assert (tmp_path / "back").read_bytes() == data
    await bob.quiet()
    assert os.listdir(bob.inbox) == ["a"]


async def test_nothing_is_a_file_too(bob: Bob, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    await put(bob.open, tmp_path / "empty", place("inbox/empty"), nobody)
    assert (bob.inbox / "empty").read_bytes() == b""
    await get(bob.open, place("inbox/empty"), tmp_path / "back", nobody)
    assert (tmp_path / "back").read_bytes() == b""


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_a_copy_cut_at_any_byte_goes_on_in_both_directions(data: st.DataObject) -> None:
    content = os.urandom(data.draw(st.integers(0, 5000)))
    cuts = data.draw(st.lists(st.integers(0, 6000), max_size=3))

    async def copy(folder: Path) -> None:
        async with serving(folder) as bob:
            (folder / "local").write_bytes(content)
            for cut_at in (*cuts, None):
                bob.cut_at = cut_at
                try:
                    copied = await put(bob.open, folder / "local", place("inbox/a"), nobody)
                except UnreachableError:
                    assert cut_at is not None
                else:
                    assert (bob.inbox / "a").read_bytes() == content
                    assert copied.digest == digest(content)
                await bob.quiet()
            for cut_at in (*cuts, None):
                bob.cut_at = cut_at
                try:
                    await get(bob.open, place("inbox/a"), folder / "back", nobody)
                except UnreachableError:
                    assert cut_at is not None
                else:
                    assert (folder / "back").read_bytes() == content
                await bob.quiet()

    with TemporaryDirectory() as folder:
        asyncio.run(copy(Path(folder)))


async def test_what_had_arrived_is_not_sent_again(bob: Bob, local: Path) -> None:
    bob.cut_at = 400_000
    message = await refused(put(bob.open, local, place("inbox/a"), nobody), UnreachableError)
    assert "bob:inbox/a" in message
    assert "copy once more to go on" in message
    await bob.quiet()
    kept = (bob.inbox / ".a.part").stat().st_size
    assert kept > 0
    bob.cut_at = None
    copied = await put(bob.open, local, place("inbox/a"), nobody)
    assert copied.kept == kept
    assert (bob.inbox / "a").read_bytes() == local.read_bytes()


@pytest.mark.parametrize("part", [b"tampered", b"", None])
async def test_a_part_that_is_not_the_beginning_of_it_is_of_no_use(
    bob: Bob, local: Path, part: bytes | None
) -> None:
    data = local.read_bytes()
    common = SLICE_SIZE // 100
    longer = data[:common] + bytes([data[common] ^ 1])
    (bob.inbox / ".a.part").write_bytes(longer if part is None else part)
    copied = await put(bob.open, local, place("inbox/a"), nobody)
    assert copied.kept == 0
    assert (bob.inbox / "a").read_bytes() == data


async def test_a_source_that_changed_since_is_copied_as_it_is_now(bob: Bob, local: Path) -> None:
    bob.cut_at = 400_000
    await refused(put(bob.open, local, place("inbox/a"), nobody), UnreachableError)
    await bob.quiet()
    bob.cut_at = None
    local.write_bytes(b"changed")
    assert (await put(bob.open, local, place("inbox/a"), nobody)).kept == 0
    assert (bob.inbox / "a").read_bytes() == b"changed"


async def test_a_source_that_changes_meanwhile_is_not_taken_for_a_file(
    bob: Bob, local: Path
) -> None:
    def touch(done: int, size: int) -> None:
        if done == 0:
            os.utime(local, ns=(1, 1))

    message = await refused(put(bob.open, local, place("inbox/a"), touch), UnreachableError)
    assert "changed while it was copied" in message
    await bob.quiet()
    assert not (bob.inbox / "a").exists()


async def test_a_served_file_that_changes_meanwhile_is_not_delivered(
    bob: Bob, tmp_path: Path
) -> None:
    (bob.docs / "a").write_bytes(os.urandom(BIG))

    def touch(done: int, size: int) -> None:
        os.utime(bob.docs / "a", ns=(1, 1))

    message = await refused(get(bob.open, place("docs/a"), tmp_path / "a", touch), UnreachableError)
    assert message == "bob:docs/a: the file was changed while it was copied"
    assert not (tmp_path / "a").exists()


async def test_every_refusal_says_what_is_wrong(bob: Bob, local: Path, tmp_path: Path) -> None:
    (bob.docs / "link").symlink_to(local)
    os.mkfifo(bob.docs / "fifo")
    (bob.docs / "folder").mkdir()
    back = tmp_path / "back"
    for path, kind, text in [
        ("nothing/a", DeniedError, "no folder of that name"),
        ("his/a", DeniedError, "not for us"),
        ("docs/none", UsageError, "no such file"),
        ("docs/none/deep", UsageError, "no such file"),
        ("docs/link", UsageError, "no plain file"),
        ("docs/fifo", UsageError, "no plain file"),
        ("docs/folder", UsageError, "no plain file"),
    ]:
        assert text in await refused(get(bob.open, place(path), back, nobody), kind)
    for path, kind, text in [
        ("docs/a", DeniedError, "only be read"),
        ("his/a", DeniedError, "not for us"),
        ("inbox/none/a", UsageError, "no such file or folder"),
    ]:
        assert text in await refused(put(bob.open, local, place(path), nobody), kind)
    await bob.quiet()
    assert not back.exists()
    assert list(bob.inbox.iterdir()) == []


async def test_what_is_wrong_here_is_said_of_what_is_here(bob: Bob, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    target = place("inbox/a")
    message = await refused(put(bob.open, tmp_path / "none", target, nobody), UsageError)
    assert message == f"{tmp_path / 'none'}: there is no such file or folder"
    assert "no plain file" in await refused(
        put(bob.open, tmp_path / "fifo", target, nobody), UsageError
    )
    (bob.docs / "a").write_bytes(b"x")
    deep = tmp_path / "none" / "deep"
    assert "no such file" in await refused(get(bob.open, place("docs/a"), deep, nobody), UsageError)
    assert not bob.tasks


async def test_one_file_is_brought_by_one_at_a_time(bob: Bob, local: Path) -> None:
    began, may_go_on = asyncio.Event(), asyncio.Event()

    async def slow_open(meta: dict[str, object]) -> object:
        stream = await bob.open(meta)
        write = stream.write

        async def held(data: bytes) -> None:
            began.set()
            await may_go_on.wait()
            await write(data)

        stream.write = held  # type: ignore[method-assign]
        return stream

    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(put(slow_open, local, place("inbox/a"), nobody))  # type: ignore[arg-type]
        await began.wait()
        message = await refused(put(bob.open, local, place("inbox/a"), nobody), CongestionError)
        assert "somebody else is writing it" in message
        may_go_on.set()
    assert first.result().size == BIG


async def test_a_stream_that_nobody_serves_leaves_no_part(tmp_path: Path) -> None:
    async def nowhere(meta: object) -> object:
        raise UnreachableError("there is no way to bob now")

    with pytest.raises(RookeryError, match="no way"):
        await get(nowhere, place("docs/a"), tmp_path / "a", nobody)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []
