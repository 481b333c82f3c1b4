"""Serial lines on pseudo-terminals (C2)."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.runtime.crow.gates.serial_line import QUEUE_SIZE_MAX, REOPEN_S_MIN, SerialLine
from tests.patience import PATIENCE_S
from tests.runtime.crow.pty_line import PtyLine
from tests.runtime.crow.recorder import eventually


class Terminal:
    def __init__(self) -> None:
        self.data = b""
        self.drains = 0
        self.losses = 0
        self._happened = asyncio.Event()

    def bytes_received(self, data: bytes) -> None:
        self.data += data
        self._happened.set()

    def drained(self) -> None:
        self.drains += 1

    def unplugged(self) -> None:
        self.losses += 1
        self._happened.set()

    async def change(self) -> None:
        self._happened.clear()
        async with asyncio.timeout(PATIENCE_S):
            await self._happened.wait()


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[PtyLine]:
    wire = PtyLine(tmp_path / "tty")
    yield wire
    wire.close()


async def test_every_byte_passes_unchanged_both_ways(wire: PtyLine) -> None:
    """No echo, no line editing, no signals: a line is set raw."""
    everything = bytes(range(256))
    terminal = Terminal()
    line = SerialLine(str(wire.path), terminal)
    received = bytearray()
    wire.on_bytes(received.extend)
    wire.write(everything)
    while len(terminal.data) < 256:
        await terminal.change()
    assert line.write(everything)
    await eventually(lambda: len(received) == 256)
    assert (terminal.data, bytes(received)) == (everything, everything)
    line.close()


async def test_what_waits_for_a_deaf_line_is_bounded_and_still_leaves_in_order(
    wire: PtyLine,
) -> None:
    line = SerialLine(str(wire.path), Terminal())
    pieces = 0
    while line.write(b"%04d" % pieces * 250):
        pieces += 1
        assert pieces < 1000
    assert pieces * 1000 > QUEUE_SIZE_MAX - 1000
    received = bytearray()
    wire.on_bytes(received.extend)
    await eventually(lambda: len(received) == pieces * 1000)
    assert received == b"".join(b"%04d" % piece * 250 for piece in range(pieces))
    line.close()


async def test_an_unplugged_line_is_reopened_when_it_is_back(wire: PtyLine) -> None:
    terminal = Terminal()
    line = SerialLine(str(wire.path), terminal)
    wire.unplug()
    await terminal.change()
    assert terminal.losses == 1
    assert not line.is_plugged
    assert not line.write(b"into the void")
    # Late enough for the first attempts to fail.
    asyncio.get_running_loop().call_later(2.5 * REOPEN_S_MIN, wire.plug)
    await eventually(lambda: line.is_plugged)
    wire.write(b"back")
    await terminal.change()
    assert terminal.data == b"back"
    line.close()


async def test_closing_ends_the_attempts_to_reopen(wire: PtyLine) -> None:
    terminal = Terminal()
    line = SerialLine(str(wire.path), terminal)
    wire.unplug()
    await terminal.change()
    line.close()
    wire.plug()
    await asyncio.sleep(0.15)  # longer than the first attempt would take
    assert not line.is_plugged


async def test_what_is_no_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        SerialLine(str(tmp_path / "none"), Terminal())
    plain = tmp_path / "plain"
    plain.touch()
    with pytest.raises(UsageError, match="cannot open the serial line"):
        SerialLine(str(plain), Terminal())


@pytest.mark.parametrize("baudrate", [0, -1, 12_345])
async def test_an_unknown_speed_is_refused(wire: PtyLine, baudrate: int) -> None:
    with pytest.raises(UsageError, match="baud"):
        SerialLine(str(wire.path), Terminal(), baudrate=baudrate)


async def test_no_descriptor_is_left_open(wire: PtyLine) -> None:
    before = len(os.listdir("/proc/self/fd"))
    line = SerialLine(str(wire.path), Terminal())
    line.close()
    line.close()
    assert len(os.listdir("/proc/self/fd")) == before
