"""A serial line as a byte stream: raw, held by one user at a time, gone when unplugged."""

import asyncio
import fcntl
import os
import termios
import tty
from collections.abc import Callable, Mapping
from contextlib import suppress

from rookery.errors import ChannelError
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import Parity, SerialTarget

_ISPEED, _OSPEED = 4, 5  # where tcgetattr has them
_SIZES = {5: termios.CS5, 6: termios.CS6, 7: termios.CS7, 8: termios.CS8}
_PARITIES = {
    Parity.NONE: 0,
    Parity.EVEN: termios.PARENB,
    Parity.ODD: termios.PARENB | termios.PARODD,
}
_NO_META: dict[str, object] = {}


class SerialStream:
    """Made by `open`."""

    peer = ""
    is_stalled = False

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = descriptor
        self._waiting: set[asyncio.Future[None]] = set()

    @classmethod
    def open(cls, path: str, line: SerialTarget) -> "SerialStream":
        """OSError or LocalError when that cannot be."""
        speed = getattr(termios, f"B{line.baudrate}", None)
        if not isinstance(speed, int):
            raise ProxyFault.INVALID.error(f"{line} at {line.baudrate} baud")
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            # Two readers would each get half of it; the lock also holds among root's processes.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _configure(descriptor, line, speed)
        except termios.error as error:
            os.close(descriptor)
            raise OSError(*error.args) from error
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    @property
    def meta(self) -> Mapping[str, object]:
        return _NO_META

    async def read(self, size: int) -> bytes:
        while True:
            try:
                data = os.read(self._held(), size)
            except (BlockingIOError, InterruptedError):
                await self._ready(self._loop.add_reader, self._loop.remove_reader)
                continue
            except OSError as error:
                raise ChannelError(ProxyFault.GONE.value) from error
            if not data:
                raise ChannelError(ProxyFault.GONE.value)
            return data

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._held(), rest) :]
            except (BlockingIOError, InterruptedError):
                await self._ready(self._loop.add_writer, self._loop.remove_writer)
            except OSError as error:
                raise ChannelError(ProxyFault.GONE.value) from error

    async def finish(self) -> None:
        """A line has no end of one direction."""

    def abort(self, code: int) -> None:
        self._leave()

    async def close(self) -> None:
        self._leave()

    def _held(self) -> int:
        if self._descriptor is None:
            raise ChannelError(ProxyFault.GONE.value)
        return self._descriptor

    async def _ready(
        self,
        add: Callable[[int, Callable[[asyncio.Future[None]], None], asyncio.Future[None]], object],
        remove: Callable[[int], object],
    ) -> None:
        descriptor, future = self._held(), self._loop.create_future()
        self._waiting.add(future)
        add(descriptor, _wake, future)
        try:
            await future
        finally:
            self._waiting.discard(future)
            if self._descriptor is not None:
                remove(descriptor)

    def _leave(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        self._loop.remove_reader(descriptor)
        self._loop.remove_writer(descriptor)
        with suppress(OSError, termios.error):
            termios.tcflush(descriptor, termios.TCIOFLUSH)
        os.close(descriptor)
        for future in self._waiting:
            _wake(future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _configure(descriptor: int, line: SerialTarget, speed: int) -> None:
    tty.setraw(descriptor, termios.TCSANOW)
    attributes = termios.tcgetattr(descriptor)
    flags = attributes[tty.CFLAG] & ~(
        termios.CSIZE | termios.PARENB | termios.PARODD | termios.CSTOPB
    )
    flags |= _SIZES[line.bits] | _PARITIES[line.parity] | (termios.CSTOPB if line.stop == 2 else 0)
    attributes[tty.CFLAG] = flags | termios.CLOCAL | termios.CREAD  # there may be no modem
    attributes[_ISPEED] = attributes[_OSPEED] = speed
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    with suppress(OSError):
        fcntl.ioctl(descriptor, termios.TIOCEXCL)
