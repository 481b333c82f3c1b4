"""Hot store by URL: `ram:` for one hub, `redis://HOST` for several."""

from pathlib import Path

from rookery.store.hot import Everything, Fallback, HotStore
from rookery.store.ram_hot import RamHot


async def open_hot(
    url: str,
    *,
    snapshot: Path | None = None,
    fallback: Fallback | None = None,
    everything: Everything | None = None,
) -> HotStore:
    """In memory the snapshot is read and kept; Redis asks the two others for what it has lost.

    Give it `Entries.find` and `Entries.load_all`. UsageError for another URL.
    """
    if url == "ram:":
        return await RamHot.open(snapshot) if snapshot else RamHot()
    # Only who needs Redis loads it.
    from rookery.store.redis_hot import RedisHot

    return await RedisHot.open(url, fallback=fallback, everything=everything)
