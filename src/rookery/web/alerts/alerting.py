"""Alerting: checks the fleet every few seconds, stores changes of alerts, sends notifications.

    checks ──▶ tracker ──▶ database (if this hub holds the lease) ──▶ sender (webhook, mail)

Of several hubs, the one with the lease checks the fleet; each checks its own spool. A hub that
loses the lease drops its state, and reads it from the database when it gets the lease back.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from sqlalchemy.exc import IntegrityError

from rookery.errors import RookeryError
from rookery.fleet.alerts.tracker import AlertTracker
from rookery.store.alerts.alerts import Alerts
from rookery.store.alerts.deliveries import AlertDeliveries
from rookery.store.alerts.writer import LEASE_S, AlertChannels, AlertWriter
from rookery.store.hubs.leases import Leases
from rookery.store.spool.name import spool_name
from rookery.web.alerts.checks import AlertCheckResult, AlertChecks
from rookery.web.alerts.sending import AlertSender
from rookery.web.alerts.settings import AlertSettings
from rookery.web.alerts.sources import AlertSources

FLEET = "fleet"
SEND_S = 1.0
RELEASE_S = 1.0  # at shutdown; later, the next hub waits until the lease expires
STEP_S = 2.0  # difference between two checks: one of the clocks was set

_log = logging.getLogger(__name__)

RunChecks = Callable[[Collection[str]], Awaitable[AlertCheckResult]]


class _AlertScope:
    """What one hub at a time checks: the fleet, or its own spool."""

    def __init__(self, name: str, holder: str, site: AlertSources, outlets: AlertChannels) -> None:
        self.name = name
        self.lease = f"alerts {name}"
        self.holder = holder
        self.writer = AlertWriter(site.hub.database, name, holder, outlets)
        self.tracker: AlertTracker | None = None  # None: the lease is not held, as far as we know


class Alerting:
    """The alerting of one hub; `run` it with the site."""

    def __init__(
        self,
        site: AlertSources,
        settings: AlertSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._site = site
        self._settings = settings
        self._clock = clock
        self._alerts = Alerts(site.hub.database)
        self._leases = Leases(site.hub.database)
        self.url = ""  # of the pages, set when they are served
        self._scopes: list[tuple[_AlertScope, RunChecks]] = []
        self._offset_s: float | None = None  # of the wall clock from the one that is not set
        self.sender = AlertSender(AlertDeliveries(site.hub.database), settings)

    async def run(self) -> None:
        """Until cancelled; a store that does not answer is tried again."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_forever(self._check_and_sample, self._settings.every_s))
                group.create_task(_forever(self.send_due, SEND_S))
        finally:
            await self._release()

    async def check(self) -> None:
        """Check once what is this hub's to check."""
        offset_s = self._site.wall() - self._clock()
        if self._offset_s is not None and abs(offset_s - self._offset_s) > STEP_S:
            for scope, _ in self._scopes:
                scope.tracker = None  # durations are not known any more
        self._offset_s = offset_s
        for scope, run_checks in self._opened():
            try:
                await self._check(scope, run_checks)
            except IntegrityError:  # another hub had the lease for a moment
                scope.tracker = None

    async def send_due(self) -> int:
        """Send due notifications if this hub holds the lease; returns their number."""
        fleet, _ = self._opened()[0]
        return 0 if fleet.tracker is None else await self.sender.send_due(self._site.wall())

    @property
    def is_ours(self) -> bool:
        """True if this hub checks the fleet."""
        return bool(self._scopes) and self._scopes[0][0].tracker is not None

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the notification channels."""
        return self._settings.channels

    def _opened(self) -> list[tuple[_AlertScope, RunChecks]]:
        """Created on first use, when the hub's folder and address are known."""
        if not self._scopes:
            name = spool_name(self._site.hub.settings.data)
            checks = AlertChecks(self._site, self._settings, name)
            outlets = AlertChannels(
                channels=self._settings.channels,
                least=self._settings.least,
                hub=self._site.hub.link.hashname or "",
                url=self.url,
            )

            async def at_fleet(open_keys: Collection[str]) -> AlertCheckResult:
                return await checks.fleet(open_keys, self._clock())

            self._scopes = [
                (_AlertScope(FLEET, name, self._site, outlets), at_fleet),
                (_AlertScope(name, name, self._site, outlets), checks.local),
            ]
        return self._scopes

    async def _check(self, scope: _AlertScope, run_checks: RunChecks) -> None:
        if scope.tracker is None:
            now = self._site.wall()
            held = self._leases.hold(scope.lease, scope.holder, now=now, seconds=LEASE_S)
            if not await held:
                return
            opened = [each.condition for each in await self._alerts.open(scope.name)]
            scope.tracker = AlertTracker(self._settings.tracker, opened)
        result = await run_checks(scope.tracker.open_keys)
        now = self._site.wall()
        transitions = scope.tracker.handle(result.conditions, now, result.checked)
        try:
            is_kept = await scope.writer.apply(transitions, now=now)
        except BaseException:
            scope.tracker = None  # it is ahead of the database
            raise
        if not is_kept:
            scope.tracker = None

    async def _check_and_sample(self) -> None:
        self._site.report_rates.sample(self._clock())
        await self.check()

    async def _release(self) -> None:
        """Give the lease back, so that another hub need not wait until it expires."""
        with suppress(RookeryError, TimeoutError):
            async with asyncio.timeout(RELEASE_S):
                await self._release_all()

    async def _release_all(self) -> None:
        for scope, _ in self._scopes:
            if scope.tracker is not None:
                await self._leases.release(scope.lease, scope.holder)


async def _forever(work: Callable[[], Awaitable[object]], pause_s: float) -> None:
    """Repeat despite unexpected errors: nothing else would report that alerting has stopped."""
    while True:
        try:
            await work()
        except RookeryError as error:
            _log.warning("alerts wait: %s", error)
        except Exception:
            _log.exception("checking for alerts failed; it goes on")
        await asyncio.sleep(pause_s)
