"""Serial lines without hardware: pseudo-terminals, single or joined into a null modem."""

import asyncio
import os
import pty
import tty
from collections.abc import Callable
from pathlib import Path

_READ_SIZE = 4096


class PtyLine:
    """One line: `path` is what a gate opens, `read` and `write` the far end of the wire."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._master: int | None = None
        self.plug()

    def plug(self) -> None:
        """Bring the device back under the same path, as udev does."""
        self._master, slave = pty.openpty()
        tty.setraw(slave)
        os.set_blocking(self._master, False)
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(slave))
        self._slave = slave  # held, or the far end would see a hang-up until a gate opens it

    def unplug(self) -> None:
        if self._master is not None:
            os.close(self._slave)
            os.close(self._master)
            self._master = None
            self.path.unlink()

    @property
    def master(self) -> int:
        assert self._master is not None
        return self._master

    def write(self, data: bytes) -> None:
        assert os.write(self.master, data) == len(data)

    def on_bytes(self, callback: Callable[[bytes], None]) -> None:
        """Have everything that the gate writes told."""
        asyncio.get_running_loop().add_reader(
            self.master, lambda: callback(os.read(self.master, _READ_SIZE))
        )

    def close(self) -> None:
        if self._master is not None:
            asyncio.get_running_loop().remove_reader(self._master)
        self.unplug()


class NullModem:
    """Two lines whose far ends are joined, without loss as long as both are plugged."""

    def __init__(self, folder: Path) -> None:
        self.left, self.right = PtyLine(folder / "left"), PtyLine(folder / "right")
        self._pending = {self.left: b"", self.right: b""}
        self.join()

    def join(self) -> None:
        for source, target in ((self.left, self.right), (self.right, self.left)):
            source.on_bytes(lambda data, target=target: self._carry(target, data))  # type: ignore[misc]

    def close(self) -> None:
        loop = asyncio.get_running_loop()
        for line in (self.left, self.right):
            if line._master is not None:
                loop.remove_writer(line.master)
            line.close()

    def _carry(self, target: PtyLine, data: bytes = b"") -> None:
        loop = asyncio.get_running_loop()
        pending = self._pending[target] + data
        try:
            while pending:
                pending = pending[os.write(target.master, pending) :]
        except BlockingIOError:
            loop.add_writer(target.master, self._carry, target)
        else:
            loop.remove_writer(target.master)
        self._pending[target] = pending
