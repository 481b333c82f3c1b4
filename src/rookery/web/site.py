"""The site: all that handlers work with, assembled once."""

import os
import time
from collections import Counter
from collections.abc import Callable

from rookery.hub.hub import Hub
from rookery.store.accounts.accounts import Accounts
from rookery.store.accounts.audit import AuditTrail
from rookery.store.accounts.credentials import AccountCredentials
from rookery.store.accounts.passkeys import Passkeys
from rookery.store.accounts.second_factors import SecondFactors
from rookery.store.accounts.sessions import BrowserSessions
from rookery.store.accounts.tokens import ApiTokens
from rookery.store.alerts.alerts import Alerts
from rookery.store.fleet.codes import EnrolmentCodes
from rookery.store.fleet.devices import Devices
from rookery.store.hubs.settings import Settings
from rookery.web.accounts.factors.keys import FactorKeys
from rookery.web.accounts.login_throttle import LoginThrottle
from rookery.web.accounts.passwords import Passwords
from rookery.web.alerts.alerting import Alerting
from rookery.web.devices.connect_progress import DeviceConnectProgress
from rookery.web.devices.shown_devices import ShownDevices
from rookery.web.http.limits import AccountConcurrencyLimit
from rookery.web.insights.lake_reader import HubLakeReader
from rookery.web.live.streams import LiveStreams
from rookery.web.mesh.source import MeshSource
from rookery.web.overview.presence import PresenceCounter
from rookery.web.settings import WebSettings
from rookery.web.system.report_rates import ReportRates

Wall = Callable[[], float]


class WebSite:
    """A hub, its stores, and the state of the web in memory."""

    def __init__(self, hub: Hub, settings: WebSettings, wall: Wall = time.time) -> None:
        self.hub = hub
        self.settings = settings
        self.wall = wall
        self.started_at = wall()
        self.accounts = Accounts(hub.database)
        self.sessions = BrowserSessions(hub.database)
        self.tokens = ApiTokens(hub.database)
        self.credentials = AccountCredentials(hub.database)
        self.devices = Devices(hub.database)
        self.codes = EnrolmentCodes(hub.database)
        self.audit = AuditTrail(hub.database)
        self.shared = Settings(hub.database)
        self.factors = SecondFactors(hub.database)
        self.passkeys = Passkeys(hub.database)
        self._factor_keys: FactorKeys | None = None
        self.passwords = Passwords(settings.password_cost)
        self.login_throttle = LoginThrottle(settings.guesses, hub.settings.hot)
        self.connect_limit = AccountConcurrencyLimit(settings.limits.connects_per_account)
        self.refusals: Counter[str] = Counter()  # requests by status, connections by why
        self.presence = PresenceCounter()
        self.connect_progress = DeviceConnectProgress(hub, settings.limits.connect_s)
        self.lake = HubLakeReader(settings.lake) if settings.lake else None
        self.mesh = None if settings.node is None else MeshSource(settings.node)
        self.shown_devices = ShownDevices()
        self.live = LiveStreams(self)
        self.alerts = Alerts(hub.database)
        self.report_rates = ReportRates(hub)
        self.alerting = Alerting(self, settings.alerts)

    async def factor_keys(self) -> FactorKeys:
        """Derived once from the master secret that all hubs of the database share."""
        if self._factor_keys is None:
            self._factor_keys = FactorKeys(await self.shared.master_secret(os.urandom))
        return self._factor_keys

    def close(self) -> None:
        """End the streams; requests under way still finish."""
        self.connect_progress.close()
        self.live.close()
        if self.lake is not None:
            self.lake.close()

    async def closed(self) -> None:
        """When nothing of ours runs any more."""
        await self.connect_progress.closed()
        await self.live.closed()
        await self.login_throttle.close()
