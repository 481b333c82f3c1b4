"""Input as it comes: lines across chunks, bounded, with or without a last newline."""

import os
from collections.abc import Iterator
from threading import Thread

import pytest

from rookery.cli.terminal import stdio
from rookery.errors import UsageError


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The writing end of what the process reads as stdin."""
    reading, writing = os.pipe()
    with open(reading) as file:
        monkeypatch.setattr("sys.stdin", file)
        yield writing


def feed(descriptor: int, data: bytes) -> None:
    def work() -> None:
        with open(descriptor, "wb") as file:
            file.write(data)

    Thread(target=work, daemon=True).start()


async def test_lines_come_without_their_ends(stdin: int) -> None:
    long = "x" * 40_000
    feed(stdin, f"one\r\n\n{long}\nlast".encode())
    assert [line async for line in stdio.lines()] == ["one", "", long, "last"]


async def test_what_is_no_text_does_not_stop_the_lines(stdin: int) -> None:
    feed(stdin, b"\xff\nok\n")
    assert [line async for line in stdio.lines()] == ["\N{REPLACEMENT CHARACTER}", "ok"]


async def test_a_line_without_end_is_refused(stdin: int) -> None:
    feed(stdin, b"x" * (stdio.LINE_SIZE_MAX + 2))
    with pytest.raises(UsageError, match="a line of more"):
        [line async for line in stdio.lines()]


async def test_all_bytes_are_written_while_the_reader_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    received = bytearray()

    def read() -> None:
        with open(reading, "rb", buffering=0) as file:
            while data := file.read(1000):
                received.extend(data)

    reader = Thread(target=read)
    reader.start()
    stdout = os.fdopen(writing, "w")
    with stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        await stdio.write(b"short")
        await stdio.write(b"y" * 300_000)
    reader.join()
    assert received == b"short" + b"y" * 300_000
