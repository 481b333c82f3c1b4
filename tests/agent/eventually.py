"""Waits for what is about to be true, and says so when it does not come about."""

import asyncio
from collections.abc import Callable

from tests.patience import PATIENCE_S


async def eventually(is_so: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    deadline = asyncio.get_running_loop().time() + timeout_s
    while not is_so():
        assert asyncio.get_running_loop().time() < deadline, "it did not come about"
        await asyncio.sleep(0.01)
