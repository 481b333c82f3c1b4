"""How alerts are found and told: one frozen value, read once at the edge."""

from hashlib import sha256

import msgspec

from rookery.fleet.alerts.alert import Severity
from rookery.fleet.alerts.tracker import AlertTrackerLimits

MAIL = "mail"


class Webhook(msgspec.Struct, frozen=True):
    """Where alerts are posted, and what proves that they are ours."""

    url: str
    secret: bytes

    def __repr__(self) -> str:
        return f"Webhook({self.channel})"

    @property
    def channel(self) -> str:
        """Its name in the database and the pages; a URL may be a secret itself."""
        return f"webhook {sha256(self.url.encode()).hexdigest()[:12]}"


class Mailbox(msgspec.Struct, frozen=True, kw_only=True):
    """Whom alerts are mailed to, and by which server."""

    host: str
    port: int = 587
    is_tls: bool = False  # from the first byte; else STARTTLS, which only loopback may lack
    sender: str
    to: tuple[str, ...]
    login: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"Mailbox({self.host}:{self.port})"


class AlertSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing has to be said: alerts are in the pages then, and nowhere else."""

    webhooks: tuple[Webhook, ...] = ()
    mailbox: Mailbox | None = None
    least: Severity = "warning"  # what is less grave is told nobody outside
    every_s: float = 5.0  # between two looks
    lake_s: float = 60.0  # between two looks at the lake
    lake_stale_s: float = 3600.0
    grace_s: float | None = None  # after the start, in which silence counts for nothing
    watch: AlertTrackerLimits = AlertTrackerLimits()
    try_s: float = 10.0  # for one attempt to tell
    retry_s: float = 5.0  # until the next one, then twice as long each time
    retry_s_max: float = 3600.0
    attempts_max: int = 12

    @property
    def channels(self) -> tuple[str, ...]:
        mail = () if self.mailbox is None else (MAIL,)
        return (*(each.channel for each in self.webhooks), *mail)
