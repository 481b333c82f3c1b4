"""Hot store: what changes with every report and every step of a rendezvous.

One hub keeps it in memory (`ram_store`), several hubs share it in Redis (`redis_store`);
`backends` opens either. The database is the authority when a hot store has lost everything.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol

from rookery.errors import CongestionError
from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous.wish import Wish, WishStep

WISHES_PER_DEVICE_MAX = 8
STEPS_PER_WISH_MAX = 256
STEPS_KEPT_S = 120.0  # after the last one; a client that was away for a minute still reads them all
SCAN_CHUNK = 1000
ENTRIES_MAX = 2_000_000

# Where a hot store looks for senders that it does not hold: `Entries.find` of the database.
EntryLookup = Callable[[Sequence[bytes]], Awaitable[list[FleetEntry | None]]]
# And for all of them, once it has lost everything: `Entries.load_all`.
EntryScan = Callable[[], AsyncIterator[list[FleetEntry]]]


class TooManyWishesError(CongestionError):
    """Too many clients already wait for this device."""


class HotStore(Protocol):
    """Every method but `steps` may raise UnreachableError when the store is elsewhere and away."""

    async def entries(self, senders: Sequence[bytes]) -> list[FleetEntry | None]:
        """What is known of each; in memory these are the entries themselves, not copies."""
        ...

    async def put(self, entries: Sequence[FleetEntry]) -> list[bool]:
        """Keep each and raise its version by one; False: another was faster, so read it again."""
        ...

    async def remove(self, entry: FleetEntry) -> bool:
        """Remove it; False when it is not known, or was changed since."""
        ...

    async def room(self) -> int:
        """How many more entries fit; known entries are kept in any case."""
        ...

    async def restore(self, entries: Sequence[FleetEntry]) -> int:
        """Take entries that are unknown here or newer than the known ones; returns how many."""
        ...

    async def all(self, kind: str) -> list[FleetEntry]:
        """Every entry of a kind of which there are few."""
        ...

    def scan(self, kind: str) -> AsyncIterator[list[FleetEntry]]:
        """Every entry of a kind, in chunks; one that comes meanwhile may be missed."""
        ...

    async def wishes(self, devices: Sequence[bytes]) -> list[int | None]:
        """The oldest open wish for each device."""
        ...

    async def add_wish(self, wish: Wish, seconds: float) -> Wish:
        """The same, or the one with which this client already waits; TooManyWishesError."""
        ...

    async def wish(self, wish: int) -> Wish | None:
        """The wish, while it is open."""
        ...

    async def end_wish(self, wish: int) -> None:
        """The device is no longer called for it; its steps can be read for a while."""
        ...

    async def add_step(self, step: WishStep) -> None:
        """Append to the wish's steps and wake the readers of `steps`."""
        ...

    def steps(self, wish: int) -> AsyncIterator[WishStep]:
        """Each once and in order, from the first; ends after `done` or `failed`.

        Also ends when neither the wish nor its steps are known any more.
        """
        ...

    async def take(self, key: str, seconds: float) -> bool:
        """True for exactly one caller in that time: a lease, or something that works once."""
        ...

    async def release(self, key: str) -> None:
        """Give back before its time what this store took."""
        ...

    async def reserved(self, server: str) -> int:
        """Open reservations at a server, by any hub."""
        ...

    async def reserve(self, server: str, seat: str, seconds: float) -> None: ...

    async def unreserve(self, server: str, seat: str) -> None: ...

    async def ready(self) -> bool:
        """Whether it answers now; never raises."""
        ...

    async def close(self) -> None: ...
