"""The hub: composition root. It starts and ends the parts, and decides nothing itself.

UDP  ──▶ report socket ──▶ report desk ──▶ hot store, spool ──▶ acknowledgements
TCP  ──▶ router door ──▶ matchmaker ──▶ server caller ──▶ servers
HTTP ──▶ web (above) ──▶ `wish`, `steps`, `entry`, `servers`
"""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from rookery.fleet.entry import Entry
from rookery.fleet.placement import ServerLoad
from rookery.fleet.wish import Step, Wish
from rookery.hub.settings import HubSettings
from rookery.store.database import Database
from rookery.store.hot import HotStore
from rookery.wire.uri import LinkAddress


class Hub:
    """`async with await Hub.start(settings) as hub:`, or call `close` yourself."""

    settings: HubSettings
    database: Database
    hot: HotStore

    @classmethod
    async def start(cls, settings: HubSettings) -> Self:
        """Open the stores, bring the registry up to date, then listen."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop listening, then write down all there is."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def hashname(self) -> str:
        raise NotImplementedError

    @property
    def link(self) -> LinkAddress:
        """How routers, servers and the CLI reach this hub: keys, udp and tcp paths, HTTP URL."""
        raise NotImplementedError

    def advertise_http(self, url: str) -> None:
        """Have the link name this URL, once somebody serves it."""
        raise NotImplementedError

    async def wish(self, mac: bytes, client: str) -> Wish:
        """Remember that `client` wants this router.

        Raises UnknownRouterError, SilentRouterError (with `last_seen`) or StoreAwayError.
        """
        raise NotImplementedError

    def steps(self, wish: Wish) -> AsyncIterator[Step]:
        """What happens to a wish, from the first step on; ends after `done` or `failed`."""
        raise NotImplementedError

    async def cancel(self, wish: Wish) -> None:
        """The client no longer waits."""
        raise NotImplementedError

    async def entry(self, mac: bytes) -> Entry | None:
        """What is known of a router."""
        raise NotImplementedError

    def is_silent(self, entry: Entry) -> bool:
        """Whether it has not reported for too long."""
        raise NotImplementedError

    async def servers(self) -> list[ServerLoad]:
        """The servers that report, with what they carry."""
        raise NotImplementedError

    def metrics_text(self) -> bytes:
        """Counters and gauges in Prometheus' text format."""
        raise NotImplementedError

    async def is_ready(self) -> bool:
        """Whether the stores answer."""
        raise NotImplementedError
