"""Forecasts: reads the forecast file that an analysis writes, for placement.

file ──every 2 s──▶ LoadForecast ──▶ `placement.choose`, in every rendezvous

If the file is missing, stale or not trusted, servers are chosen without a forecast. Its state is
logged and counted in the metrics.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rookery.fleet.rendezvous.load_forecast import LoadForecast
from rookery.fleet.rendezvous.placement import GrowthForecast, ServerLoad
from rookery.hub.clock import HubClock
from rookery.hub.settings import HubSettings
from rookery.runtime.artifact_file import LOOK_S, ArtifactFile, ArtifactState

if TYPE_CHECKING:
    from rookery.wire.fleet.forecast import ServerForecast

_log = logging.getLogger(__name__)


class Forecasts:
    """`run` it beside the hub; `ask` at any time."""

    def __init__(self, settings: HubSettings, clock: HubClock) -> None:
        self._clock = clock
        self._forecast = LoadForecast(frozenset(settings.forecasters))
        self._file: ArtifactFile | None = None
        if settings.forecast is not None and settings.is_forecast_followed:
            self._file = ArtifactFile(settings.forecast, self._forecast.follow)
            self._file.look()
        self._logged_state = ArtifactState.OFF

    def ask(self, servers: Sequence[ServerLoad]) -> GrowthForecast | None:
        """What is expected of these servers; None: nothing is."""
        return None if self._file is None else self._forecast.forecast(servers, self._clock.now())

    @property
    def state(self) -> ArtifactState:
        if self._file is None:
            return ArtifactState.OFF
        if self._forecast.learned is None or self._forecast.is_current(self._clock.now()):
            return self._file.state
        return ArtifactState.STALE

    @property
    def refused(self) -> int:
        """Number of files that were refused."""
        return 0 if self._file is None else self._file.refused

    @property
    def expires_s(self) -> float:
        """Wall time; 0: there is none."""
        learned = self._forecast.learned
        return 0.0 if learned is None else learned.expires_ms / 1000

    @property
    def problem(self) -> str:
        """Why no forecast is followed, for people; empty: one is, or none is configured."""
        return "" if self._file is None else self._file.problem

    @property
    def issuer(self) -> str:
        """Hashname of the signer; empty: there is no forecast."""
        return "" if self._forecast.learned is None else self._forecast.learned.issuer

    def expected(self, hashname: str) -> "ServerForecast | None":
        """The shares of its seats that the followed forecast expects of a server."""
        is_followed = self.state is ArtifactState.FOLLOWED
        return self._forecast.expected_of(hashname) if is_followed else None

    def growth(self, server: ServerLoad) -> float | None:
        """By how much of its seats a server counts as fuller now; None: nothing is expected."""
        return None if self._file is None else self._forecast.growth(server, self._clock.now())

    async def run(self) -> None:
        while self._file is not None:
            is_news = self._file.look()
            self._log_change(is_news=is_news)
            await asyncio.sleep(LOOK_S)

    def _log_change(self, *, is_news: bool) -> None:
        state, learned = self.state, self._forecast.learned
        if state is self._logged_state and not is_news:
            return
        self._logged_state = state
        if state is ArtifactState.FOLLOWED and learned is not None:
            count = len(learned.content.servers)
            _log.info("following a forecast of %d servers by %s", count, learned.issuer)
        else:
            reason = self._file.problem if self._file is not None else ""
            _log.warning("servers are chosen without a forecast: %s", reason or state.value)
