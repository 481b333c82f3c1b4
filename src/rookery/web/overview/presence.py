"""Counts of reporting and silent devices, recounted as often as is cheap."""

import time
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from rookery.web.site import WebSite

_COUNT_SHARE = 50  # counting takes at most 1/50 of the time
_COUNT_S_MIN = 1.0


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of reporting and of silent devices."""

    online: int
    silent: int


class PresenceCounter:
    """Recounts at intervals that grow with the time a count takes."""

    def __init__(self) -> None:
        self._known = Presence(online=0, silent=0)
        self._due_at = float("-inf")

    async def count(self, site: "WebSite") -> Presence:
        began = time.monotonic()
        if began < self._due_at:
            return self._known
        online = silent = 0
        async for entries in site.hub.hot.scan("router"):
            quiet = sum(site.hub.is_silent(entry) for entry in entries)
            silent += quiet
            online += len(entries) - quiet
        self._known = Presence(online=online, silent=silent)
        took_s = time.monotonic() - began
        self._due_at = began + max(_COUNT_S_MIN, took_s * _COUNT_SHARE)
        return self._known
