"""A log of what happened to links: the last error of each peer and when, also once a link is gone.

It stands between the pump and the node's core, hears every event and passes everything on.
"""

import time
from collections.abc import Callable

import msgspec

from rookery.link.events import Event, LinkDown, LinkForgotten, LinkUp, PathLost
from rookery.link.link import Link, LinkState
from rookery.runtime.pump import Resident

PEERS_MAX = 1024


class PeerEntry(msgspec.Struct):
    """What is remembered of one peer."""

    error: str = ""
    error_at: float | None = None  # Unix seconds
    changed_s: float = 0.0  # when its link last came or went


class PeerLog:
    """The pump's resident, in the place of the one it wraps."""

    def __init__(
        self, resident: Resident, now: float, wall: Callable[[], float] = time.time
    ) -> None:
        self.worked_s = now  # when the core was last given time
        self._resident = resident
        self._wall = wall
        self._entries: dict[str, PeerEntry] = {}

    def entry(self, hashname: str) -> PeerEntry:
        """What is known of a peer, which may be nothing."""
        return self._entries.get(hashname) or PeerEntry()

    # --- as the pump's resident ---

    @property
    def deadline(self) -> float | None:
        return self._resident.deadline

    def tick(self, now: float) -> None:
        self._resident.tick(now)
        self.worked_s = now

    def handle(self, event: Event, now: float) -> None:
        match event:
            case LinkUp(link):
                self._note(link, "", now)
            case LinkDown(link, reason):
                self._note(link, reason, now)
            case LinkForgotten(link):
                self._note(link, link.last_error or "", now)
            case PathLost(link) if link.state is not LinkState.UP:
                self._failed(link)
            case _:
                pass
        self._resident.handle(event, now)

    def report(self) -> None:
        self._resident.report()

    def flush(self, now: float) -> None:
        self._resident.flush(now)

    def _failed(self, link: Link) -> None:
        """It was dialled once more, in vain."""
        entry = self._entries.get(link.hashname)
        if entry is not None and link.last_error:
            entry.error, entry.error_at = link.last_error, self._wall()

    def _note(self, link: Link, error: str, now: float) -> None:
        entry = self._entries.pop(link.hashname, None) or PeerEntry()
        entry.changed_s = now
        if error:
            entry.error, entry.error_at = error, self._wall()
        if len(self._entries) >= PEERS_MAX:
            del self._entries[next(iter(self._entries))]
        self._entries[link.hashname] = entry
