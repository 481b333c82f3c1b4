"""Settings of alerting and its channels."""

from hashlib import sha256

import msgspec

from rookery.fleet.alerts.alert import Severity
from rookery.fleet.alerts.tracker import AlertTrackerLimits

MAIL = "mail"


class Webhook(msgspec.Struct, frozen=True):
    """URL that alerts are posted to, and the key of their signatures."""

    url: str
    secret: bytes

    def __repr__(self) -> str:
        return f"Webhook({self.channel})"

    @property
    def channel(self) -> str:
        """Name in the database and on pages, without the URL, which may be a secret."""
        return f"webhook {sha256(self.url.encode()).hexdigest()[:12]}"


class Mailbox(msgspec.Struct, frozen=True, kw_only=True):
    """Recipients of alerts, and the SMTP server."""

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
    """By default there are no channels: alerts are on the pages only."""

    webhooks: tuple[Webhook, ...] = ()
    mailbox: Mailbox | None = None
    least: Severity = "warning"  # less severe alerts are not sent
    every_s: float = 5.0  # between two looks
    lake_s: float = 60.0  # between two looks at the lake
    lake_stale_s: float = 3600.0
    grace_s: float | None = None  # after the start, in which silence counts for nothing
    tracker: AlertTrackerLimits = AlertTrackerLimits()
    try_s: float = 10.0  # for one attempt to tell
    retry_s: float = 5.0  # until the next one, then twice as long each time
    retry_s_max: float = 3600.0
    attempts_max: int = 12

    @property
    def channels(self) -> tuple[str, ...]:
        mail = () if self.mailbox is None else (MAIL,)
        return (*(each.channel for each in self.webhooks), *mail)
