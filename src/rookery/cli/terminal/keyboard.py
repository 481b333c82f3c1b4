"""Single keys from the terminal, without waiting for the end of a line."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator

_KEYS_MAX = 64


class Keyboard:
    """Keys as they are pressed; `pressed` makes it."""

    def __init__(self) -> None:
        self._keys: asyncio.Queue[str] = asyncio.Queue(_KEYS_MAX)

    async def keys(self, seconds: float) -> AsyncIterator[str]:
        """What is pressed within so many seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    key = await self._keys.get()
            except TimeoutError:
                return
            yield key

    def read(self, descriptor: int) -> None:
        for key in os.read(descriptor, _KEYS_MAX).decode(errors="ignore"):
            with contextlib.suppress(asyncio.QueueFull):
                self._keys.put_nowait(key)


@contextlib.contextmanager
def pressed() -> Iterator[Keyboard]:
    """The terminal's keys, which are not shown meanwhile; none where there is no terminal."""
    keyboard = Keyboard()
    try:
        import termios
        import tty
    except ImportError:  # Windows
        yield keyboard
        return
    if not sys.stdin.isatty():
        yield keyboard
        return
    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, keyboard.read, descriptor)
    try:
        yield keyboard
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
