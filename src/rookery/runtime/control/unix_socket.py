"""Where a control socket listens, in place of one that a dead node left.

It is its owner's alone, or that of a group, too, in a folder that is shared with one.
"""

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from rookery.errors import ChannelError, UsageError
from rookery.runtime.shared_folder import OWNER, USED_BY_GROUP, is_shared

_BACKLOG = 32
_ADDRESS_SIZE_MAX = 100  # some systems allow 107 bytes, some 103


def listening(path: Path) -> socket.socket:
    """A socket for this user only; UsageError when that fails."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        with reachable(path) as address:
            _make_room(path, address)
            sock.bind(address)
        # No client can connect before `listen` in the next line.
        path.chmod(USED_BY_GROUP if is_shared(path.parent) else OWNER)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        why = f"cannot open the control socket {path}: {error.strerror}"
        raise UsageError(f"{why}; choose another with --control PATH") from error
    except UsageError:
        sock.close()
        raise
    return sock


def _make_room(path: Path, address: str) -> None:
    """Remove the socket of a node that did not shut down."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise UsageError(f"{path} exists and is no socket; choose another with --control PATH")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(address)
        except ConnectionRefusedError:
            path.unlink()
            return
        except BlockingIOError:
            pass  # its backlog is full, so a node is there
    raise UsageError(f"a node is running at {path} already; stop it, or choose another --control")


@contextlib.contextmanager
def reachable(path: Path) -> Iterator[str]:
    """The socket's address: short enough for the system, however deep the folder lies."""
    if len(os.fsencode(path)) <= _ADDRESS_SIZE_MAX:
        yield os.fspath(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


_NO_META: dict[str, object] = {}


class LocalStream:
    """A byte stream over asyncio's reader and writer, which their owner closes."""

    peer = ""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def meta(self) -> Mapping[str, object]:
        return _NO_META

    async def read(self, size: int) -> bytes:
        try:
            return await self._reader.read(size)
        except OSError as error:
            raise ChannelError("it was broken off") from error

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise ChannelError("it was broken off") from error

    async def finish(self) -> None:
        if not self._writer.is_closing():
            try:
                self._writer.write_eof()
            except OSError as error:
                raise ChannelError("it was broken off") from error

    def abort(self, code: int) -> None:
        """Drop everything; the other end gets less than was announced."""
        self._writer.transport.abort()
