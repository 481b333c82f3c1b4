"""A log of what happened to links: the last error of each peer and when, also of those gone."""

import time
from collections.abc import Callable

import msgspec

from rookery.link.events import Event, LinkDown, LinkForgotten, LinkUp, PathLost
from rookery.link.link import Link, LinkState

PEERS_MAX = 1024


class PeerLogEntry(msgspec.Struct):
    """What is remembered of one peer."""

    error: str = ""
    error_at: float | None = None  # Unix seconds
    changed_s: float = 0.0  # when its link last came or went


class PeerLog:
    """What was heard of links; of each peer the last that matters."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._entries: dict[str, PeerLogEntry] = {}

    def entry(self, hashname: str) -> PeerLogEntry:
        """What is known of a peer, which may be nothing."""
        return self._entries.get(hashname) or PeerLogEntry()

    def hear(self, event: Event, now: float) -> None:
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

    def _failed(self, link: Link) -> None:
        """It was dialled once more, in vain."""
        entry = self._entries.get(link.hashname)
        if entry is not None and link.last_error:
            entry.error, entry.error_at = link.last_error, self._wall()

    def _note(self, link: Link, error: str, now: float) -> None:
        entry = self._entries.pop(link.hashname, None) or PeerLogEntry()
        entry.changed_s = now
        if error:
            entry.error, entry.error_at = error, self._wall()
        if len(self._entries) >= PEERS_MAX:
            del self._entries[next(iter(self._entries))]
        self._entries[link.hashname] = entry
