"""Load forecast: how much fuller a server will soon be, by a signed analysis of the past.

    growth = confidence × plausibility × (fullest within the next hour, less now; as expected)
    0 ≤ growth ≤ FORECAST_MAX

Expected shares hold for the middle of their steps and are interpolated in between. Plausibility
falls as the share expected for now differs from the one that the server reports. A forecast counts
only if a trusted forecaster has signed it, and until it expires; without one placement does not
change.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rookery.fleet.entry import server_id
from rookery.fleet.rendezvous.placement import FORECAST_MAX, GrowthForecast, ServerLoad
from rookery.identity.artifact import open_forecast

if TYPE_CHECKING:
    from rookery.identity.artifact import TrustedArtifact
    from rookery.wire.fleet import forecast as wire

AHEAD_S = 3600
LOOKS = 4  # at the time ahead
ERROR_MAX = 0.5  # share of the seats; a forecast with this error about now is ignored

_MINUTE_S = 60
_NOTHING: "Mapping[bytes, wire.ServerForecast]" = MappingProxyType({})


class _ExpectedLoad(NamedTuple):
    now: float  # share of the seats
    growth: float  # within the time ahead
    confidence: float


class LoadForecast:
    """The forecast that a hub follows, if any; only those of `forecasters` are accepted."""

    def __init__(self, forecasters: Collection[str] = frozenset[str]()) -> None:
        self.learned: TrustedArtifact[wire.Forecast] | None = None
        self._forecasters = forecasters  # hashnames
        self._servers = _NOTHING
        self._known: dict[str, _ExpectedLoad | None] = {}  # by hashname, in this minute
        self._minute = 0

    def follow(self, artifact: bytes | None) -> None:
        """Follow this forecast from now on; None: follow none.

        RemoteError when a trusted forecaster has not signed it; then none is followed.
        """
        self.learned, self._servers, self._known = None, _NOTHING, {}
        if artifact is not None:
            self.learned = open_forecast(artifact, self._forecasters)
            self._servers = {each.server: each for each in self.learned.content.servers}

    def expected_of(self, hashname: str) -> "wire.ServerForecast | None":
        """All that is expected of a server, current or not."""
        return self._servers.get(server_id(hashname))

    def is_current(self, unix_s: float) -> bool:
        """True while the forecast is in force."""
        return self.learned is not None and self.learned.is_current(unix_s * 1000)

    def forecast(self, servers: Sequence[ServerLoad], unix_s: float) -> GrowthForecast | None:
        """What `placement.choose` asks of these servers; None: there is nothing to ask."""
        if not self.is_current(unix_s):
            return None
        return {server.hashname: self.growth(server, unix_s) for server in servers}.get

    def growth(self, server: ServerLoad, unix_s: float) -> float | None:
        """The share of its seats that it will soon need beyond today's; None: not forecast."""
        if not self.is_current(unix_s):
            return None
        expected = self._expected(server.hashname, int(unix_s // _MINUTE_S))
        if expected is None:
            return None
        taken = (server.seats_used + server.reserved) / max(server.seats_max, 1)
        plausibility = max(0.0, 1 - abs(taken - expected.now) / ERROR_MAX)
        return min(FORECAST_MAX, expected.confidence * plausibility * expected.growth)

    def _expected(self, hashname: str, minute: int) -> _ExpectedLoad | None:
        """Computed once a minute: a busy hub asks about all its servers all the time."""
        if minute != self._minute:
            self._minute, self._known = minute, {}
        if hashname not in self._known:
            said = self.expected_of(hashname)
            self._known[hashname] = None if said is None else _ahead(said, minute * _MINUTE_S)
        return self._known[hashname]


def _ahead(said: "wire.ServerForecast", unix_s: float) -> _ExpectedLoad | None:
    now = expected_share(said, unix_s)
    if now is None:
        return None
    times = (unix_s + AHEAD_S * look / LOOKS for look in range(1, LOOKS + 1))
    later = [share for at_s in times if (share := expected_share(said, at_s)) is not None]
    return _ExpectedLoad(now, max(0.0, max(later, default=now) - now), said.confidence)


def expected_share(expected: "wire.ServerForecast", unix_s: float) -> float | None:
    """The share of seats expected then; None outside of the forecast."""
    at = (unix_s * 1000 - expected.start_ms) / (1000 * expected.step_s)
    shares = expected.shares
    if not 0 <= at < len(shares):
        return None
    before = int(at - 0.5) if at >= 0.5 else 0
    after = min(before + 1, len(shares) - 1)
    part = min(1.0, max(0.0, at - 0.5 - before))
    return shares[before] + part * (shares[after] - shares[before])
