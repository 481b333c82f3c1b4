"""The servers that report, with what each carries, for placement and for those who look."""

from rookery.errors import DecodeError
from rookery.fleet.entry import Entry
from rookery.fleet.placement import ServerLoad
from rookery.hub.clock import HubClock
from rookery.identity.hashname import intermediate
from rookery.store.hot import HotStore
from rookery.wire import telemetry
from rookery.wire.telemetry import LoadReport


class ServerList:
    """Reads the hot store anew each time: reservations of all hubs count."""

    def __init__(self, hot: HotStore, clock: HubClock) -> None:
        self._hot = hot
        self._clock = clock

    async def loads(self) -> list[ServerLoad]:
        """UnreachableError when the hot store is away."""
        loads = []
        for entry in await self._hot.all("server"):
            report = _report(entry)
            if report is None:
                continue
            loads.append(
                ServerLoad(
                    entry.hashname,
                    report.tcp,
                    report.ws,
                    report.key2a,
                    intermediate(entry.key),
                    report.seats_max,
                    report.seats_used,
                    await self._hot.reserved(entry.hashname),
                    report.cpu,
                    report.mem,
                    self._clock.counted(entry.last_seen),
                )
            )
        return loads


def _report(entry: Entry) -> LoadReport | None:
    """Its last report, if that names the key which its hashname is made of."""
    try:
        report = telemetry.decode(entry.content)
    except DecodeError:
        return None
    if not isinstance(report, LoadReport) or intermediate(report.key2a) != entry.digest:
        return None
    return report
