"""Several things at once, of which the first to end ends the others."""

import asyncio
from collections.abc import Coroutine, Sequence


async def until_first(works: Sequence[Coroutine[object, object, None]]) -> None:
    """Run them together until one is done; what that one raised is raised here as it is."""
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
