"""The site: all that handlers work with, put together once."""

import os
import time
from collections import Counter
from collections.abc import Callable

from rookery.hub.hub import Hub
from rookery.store.accounts import Accounts
from rookery.store.alerts import Alerts
from rookery.store.audit import Audit
from rookery.store.codes import Codes
from rookery.store.credentials import Credentials
from rookery.store.devices import Devices
from rookery.store.factors import Factors
from rookery.store.passkeys import Passkeys
from rookery.store.sessions import Sessions
from rookery.store.settings import Settings
from rookery.store.tokens import Tokens
from rookery.web.alerting import Alerting
from rookery.web.census import Census
from rookery.web.factors.keys import FactorKeys
from rookery.web.guessing import Guessing
from rookery.web.lake_view import LakeView
from rookery.web.live import Live
from rookery.web.mesh_source import MeshSource
from rookery.web.passwords import Passwords
from rookery.web.settings import WebSettings
from rookery.web.shown_routers import ShownRouters
from rookery.web.turnstile import Turnstile
from rookery.web.vital_signs import VitalSigns
from rookery.web.watching import Watching

Wall = Callable[[], float]


class Site:
    """A hub's stores and what the web keeps in memory beside them."""

    def __init__(self, hub: Hub, settings: WebSettings, wall: Wall = time.time) -> None:
        self.hub = hub
        self.settings = settings
        self.wall = wall
        self.accounts = Accounts(hub.database)
        self.sessions = Sessions(hub.database)
        self.tokens = Tokens(hub.database)
        self.credentials = Credentials(hub.database)
        self.devices = Devices(hub.database)
        self.codes = Codes(hub.database)
        self.audit = Audit(hub.database)
        self.shared = Settings(hub.database)
        self.factors = Factors(hub.database)
        self.passkeys = Passkeys(hub.database)
        self._factor_keys: FactorKeys | None = None
        self.passwords = Passwords(settings.password_cost)
        self.guessing = Guessing(settings.guesses, hub.settings.hot)
        self.connects = Turnstile(settings.limits.connects_per_account)
        self.refusals: Counter[str] = Counter()  # requests by status, connections by why
        self.census = Census()
        self.watching = Watching(hub, settings.limits.connect_s)
        self.lake = LakeView(settings.lake) if settings.lake else None
        self.mesh = None if settings.node is None else MeshSource(settings.node)
        self.shown_routers = ShownRouters()
        self.live = Live(self)
        self.alerts = Alerts(hub.database)
        self.vitals = VitalSigns(hub)
        self.alerting = Alerting(self, settings.alerts)

    async def factor_keys(self) -> FactorKeys:
        """Derived once from the master secret that all hubs of the database share."""
        if self._factor_keys is None:
            self._factor_keys = FactorKeys(await self.shared.master_secret(os.urandom))
        return self._factor_keys

    def close(self) -> None:
        """End the streams; requests under way still finish."""
        self.watching.close()
        self.live.close()
        if self.lake is not None:
            self.lake.close()

    async def closed(self) -> None:
        """When nothing of ours runs any more."""
        await self.watching.closed()
        await self.live.closed()
        await self.guessing.close()
