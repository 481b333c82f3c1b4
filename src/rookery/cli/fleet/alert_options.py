"""Options of `rookery hub` about alerts: which channels notify people outside of its pages.

Secrets come from the environment or from files; a command line is visible in the list of processes.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from cyclopts import Parameter

from rookery.errors import UsageError

if TYPE_CHECKING:
    from rookery.web.alerts.settings import AlertSettings, Mailbox, Webhook

WEBHOOKS_VARIABLE = "ROOKERY_ALERT_WEBHOOKS"
SECRET_VARIABLE = "ROOKERY_ALERT_SECRET"  # noqa: S105 - where it is, not what
PASSWORD_VARIABLE = "ROOKERY_SMTP_PASSWORD"  # noqa: S105
SECRET_SIZE_MIN = 16
AFTER_S_MIN, AFTER_S_MAX = 1.0, 86_400.0

_PORTS = {"smtp": 587, "smtps": 465}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AlertOptions:
    """Channels that alerts are sent to."""

    webhooks: Annotated[
        tuple[str, ...],
        Parameter(
            name="--alert-webhook",
            negative="",
            show_default=False,
            help="URL that alerts are posted to, signed; repeat for more. Or in "
            f"{WEBHOOKS_VARIABLE}, separated by spaces.",
        ),
    ] = ()
    secret_file: Annotated[
        Path | None,
        Parameter(
            name="--alert-secret-file",
            help=f"File with the secret that signs them; else {SECRET_VARIABLE}.",
        ),
    ] = None
    mail: Annotated[
        tuple[str, ...],
        Parameter(
            name="--alert-mail",
            negative="",
            show_default=False,
            help="Address that alerts are mailed to; repeat for more.",
        ),
    ] = ()
    smtp: Annotated[
        str,
        Parameter(
            name="--alert-smtp",
            help="Server that takes mail: smtp://[LOGIN@]HOST[:PORT] with STARTTLS, or smtps://.",
        ),
    ] = ""
    sender: Annotated[
        str, Parameter(name="--alert-from", help="Address that the mail comes from.")
    ] = ""
    password_file: Annotated[
        Path | None,
        Parameter(
            name="--alert-smtp-password-file",
            help=f"File with the password of LOGIN; else {PASSWORD_VARIABLE}.",
        ),
    ] = None
    least: Annotated[
        Literal["critical", "warning", "notice"],
        Parameter(name="--alert-least", help="What is less grave is in the pages only."),
    ] = "warning"
    after_s: Annotated[
        float,
        Parameter(
            name="--alert-after",
            help="Seconds that something has to last; it has to be gone for twice as long.",
        ),
    ] = 15.0

    def settings(self, environment: Mapping[str, str] = os.environ) -> "AlertSettings":
        """The options as settings, checked; UsageError."""
        from rookery.fleet.alerts.tracker import AlertTrackerLimits
        from rookery.web.alerts.settings import AlertSettings

        if not AFTER_S_MIN <= self.after_s <= AFTER_S_MAX:
            raise UsageError(f"--alert-after {self.after_s:g}: give {AFTER_S_MIN:g} s to a day")
        return AlertSettings(
            webhooks=self._webhooks(environment),
            mailbox=self._mailbox(environment),
            least=self.least,
            every_s=max(1.0, min(5.0, self.after_s / 3)),
            tracker=AlertTrackerLimits(raise_after_s=self.after_s, clear_after_s=2 * self.after_s),
        )

    def _webhooks(self, environment: Mapping[str, str]) -> "tuple[Webhook, ...]":
        from rookery.web.alerts.settings import Webhook
        from rookery.web.alerts.webhook import checked_url

        urls = (*self.webhooks, *environment.get(WEBHOOKS_VARIABLE, "").split())
        if not urls:
            return ()
        secret = _secret(self.secret_file, environment.get(SECRET_VARIABLE, ""))
        if len(secret) < SECRET_SIZE_MIN:
            raise UsageError(
                f"a webhook needs a secret of {SECRET_SIZE_MIN} characters or more, in "
                f"{SECRET_VARIABLE} or --alert-secret-file: receivers know us by it"
            )
        return tuple(Webhook(checked_url(url), secret.encode()) for url in dict.fromkeys(urls))

    def _mailbox(self, environment: Mapping[str, str]) -> "Mailbox | None":
        from rookery.web.alerts.mail import checked_address
        from rookery.web.alerts.settings import Mailbox

        if not self.mail and not self.smtp:
            return None
        if not (self.mail and self.smtp and self.sender):
            raise UsageError("mail needs --alert-mail, --alert-smtp and --alert-from together")
        try:
            parts = urlsplit(self.smtp)
            port = parts.port or _PORTS.get(parts.scheme, 0)
        except ValueError:
            port = 0
        if not port or not parts.hostname or parts.path not in ("", "/"):
            raise UsageError("--alert-smtp: write smtp://HOST, smtp://LOGIN@HOST:PORT or smtps://…")
        if parts.password is not None:
            raise UsageError(f"--alert-smtp: the password belongs into {PASSWORD_VARIABLE}")
        return Mailbox(
            host=parts.hostname,
            port=port,
            is_tls=parts.scheme == "smtps",
            sender=checked_address(self.sender),
            to=tuple(map(checked_address, self.mail)),
            login=parts.username or "",
            password=_secret(self.password_file, environment.get(PASSWORD_VARIABLE, "")),
        )


ALERT_OPTIONS = AlertOptions()


def _secret(file: Path | None, fallback: str) -> str:
    if file is None:
        return fallback
    try:
        return file.read_text().strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"no secret in {file}: {type(error).__name__}") from error
