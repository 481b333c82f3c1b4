"""Hot store by URL: `ram:` for one hub, `redis://HOST` for several."""

from pathlib import Path

from rookery.store.hot.hot_store import EntryLookup, EntryScan, HotStore
from rookery.store.hot.ram_store import RamHotStore


async def open_hot_store(
    url: str,
    *,
    snapshot: Path | None = None,
    fallback: EntryLookup | None = None,
    everything: EntryScan | None = None,
) -> HotStore:
    """In memory the snapshot is read and kept; Redis asks the two others for what it has lost.

    Give it `Entries.find` and `Entries.load_all`. UsageError for another URL.
    """
    if url == "ram:":
        return await RamHotStore.open(snapshot) if snapshot else RamHotStore()
    # Imported only when Redis is used.
    from rookery.store.hot.redis_store import RedisHotStore

    return await RedisHotStore.open(url, fallback=fallback, everything=everything)
