"""A serial line as bytes: raw, eight bits, no parity, reopened when it was unplugged.

A line that goes away (a USB adapter, a modem that resets) comes back under the same path sooner or
later; until then it is tried again, less and less often.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import termios
import tty
from typing import Protocol

from rookery.errors import UsageError

BAUDRATE = 115_200
QUEUE_SIZE_MAX = 1 << 14  # bytes that wait; at the usual speed more than a second's worth
REOPEN_S_MIN = 0.1
REOPEN_S_MAX = 5.0

_READ_SIZE = 4096
_READS_MAX = 16  # in a row, then others have their turn
_ISPEED, _OSPEED = 4, 5  # where tcgetattr has them


class LineUser(Protocol):
    """Who talks over a line."""

    def bytes_received(self, data: bytes) -> None: ...

    def drained(self) -> None:
        """A batch of reads is over."""

    def unplugged(self) -> None:
        """The line is gone, with whatever had been begun on it."""


class SerialLine:
    """One device; open from the beginning, unless UsageError."""

    def __init__(self, path: str, user: LineUser, *, baudrate: int = BAUDRATE) -> None:
        self.path = path
        self._user = user
        self._speed = _speed(baudrate)
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = None
        self._queue = bytearray()
        self._is_blocked = False
        self._is_closed = False
        self._reopening: asyncio.TimerHandle | None = None
        self._reopen_s = REOPEN_S_MIN
        try:
            self._open()
        except (OSError, termios.error) as error:
            raise UsageError(f"cannot open the serial line {path}: {error.args[1]}") from error

    @property
    def is_plugged(self) -> bool:
        return self._descriptor is not None

    def write(self, data: bytes) -> bool:
        """Write all of it, soon; False when there is no room for all of it."""
        if self._descriptor is None or len(self._queue) + len(data) > QUEUE_SIZE_MAX:
            return False
        self._queue += data
        if not self._is_blocked:
            self._flush()
        return True

    def close(self) -> None:
        self._is_closed = True
        if self._reopening is not None:
            self._reopening.cancel()
        self._leave()

    def _open(self) -> None:
        descriptor = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            tty.setraw(descriptor, termios.TCSANOW)
            attributes = termios.tcgetattr(descriptor)
            attributes[tty.CFLAG] |= termios.CLOCAL | termios.CREAD  # there may be no modem
            attributes[_ISPEED] = attributes[_OSPEED] = self._speed
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
            with contextlib.suppress(OSError):  # two readers would each get half of it
                fcntl.ioctl(descriptor, termios.TIOCEXCL)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        self._loop.add_reader(descriptor, self._readable)

    def _reopen(self) -> None:
        self._reopening = None
        try:
            self._open()
        except (OSError, termios.error):
            self._reopen_later()

    def _reopen_later(self) -> None:
        self._reopening = self._loop.call_later(self._reopen_s, self._reopen)
        self._reopen_s = min(self._reopen_s * 2, REOPEN_S_MAX)

    def _leave(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        self._queue.clear()
        self._is_blocked = False
        if descriptor is not None:
            self._loop.remove_reader(descriptor)
            self._loop.remove_writer(descriptor)
            os.close(descriptor)

    def _lost(self) -> None:
        self._leave()
        self._user.unplugged()
        if not self._is_closed:
            self._reopen_later()

    def _readable(self) -> None:
        try:
            for _ in range(_READS_MAX):
                if self._descriptor is None:
                    break
                data = os.read(self._descriptor, _READ_SIZE)
                if not data:
                    raise OSError(errno.EIO, "hung up")
                self._reopen_s = REOPEN_S_MIN  # it works, so next time do not wait for long
                self._user.bytes_received(data)
                if len(data) < _READ_SIZE:
                    break
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._lost()
        finally:
            self._user.drained()

    def _flush(self) -> None:
        assert self._descriptor is not None
        try:
            while self._queue:
                del self._queue[: os.write(self._descriptor, self._queue)]
        except (BlockingIOError, InterruptedError):
            if not self._is_blocked:
                self._is_blocked = True
                self._loop.add_writer(self._descriptor, self._flush)
            return
        except OSError:
            self._lost()
            return
        if self._is_blocked:
            self._is_blocked = False
            self._loop.remove_writer(self._descriptor)


def _speed(baudrate: int) -> int:
    speed = getattr(termios, f"B{baudrate}", None)
    if not isinstance(speed, int) or baudrate <= 0:
        raise UsageError(f"no serial line here runs at {baudrate} baud")
    return speed
