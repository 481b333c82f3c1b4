"""Sends an alert by mail, over SMTP with TLS, which only a server on loopback may lack."""

import asyncio
import ipaddress
import smtplib
import ssl
from datetime import UTC, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime

from rookery.errors import UnreachableError, UsageError
from rookery.store.alerts.writer import AlertNotice
from rookery.web.alerts.settings import Mailbox


def checked_address(text: str) -> str:
    """The mail address, unchanged; UsageError if it is none."""
    try:
        address = Address(addr_spec=text)
    except (ValueError, IndexError, AttributeError, MessageError) as error:
        raise UsageError(f"{text!r} is no address of mail") from error
    if not address.domain or not text.isascii() or not text.isprintable():
        raise UsageError(f"{text!r} is no address of mail")
    return text


def message(mailbox: Mailbox, notice: AlertNotice) -> EmailMessage:
    """The message; each attempt of a delivery has the same Message-ID."""
    made = EmailMessage()
    alert = notice.alert
    made["From"] = mailbox.sender
    made["To"] = ", ".join(mailbox.to)
    made["Subject"] = _line(f"[rookery] {notice.event}: {alert['title']}")
    made["Date"] = format_datetime(datetime.fromtimestamp(notice.at, UTC))
    domain = Address(addr_spec=mailbox.sender).domain
    made["Message-ID"] = f"<{notice.delivery}.{notice.hub[:16]}@{domain}>"
    # What belongs to one alert is one conversation.
    made["References"] = f"<alert-{alert['id']}.{notice.hub[:16]}@{domain}>"
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(_text(notice))
    return made


async def send(mailbox: Mailbox, notice: AlertNotice, *, timeout_s: float) -> str:
    """The outcome as text; UnreachableError if it cannot be delivered now."""
    try:
        return await asyncio.to_thread(_send, mailbox, message(mailbox, notice), timeout_s)
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise UnreachableError(_why(error)) from None


def _send(mailbox: Mailbox, made: EmailMessage, timeout_s: float) -> str:
    context = ssl.create_default_context()
    server: smtplib.SMTP
    if mailbox.is_tls:
        server = smtplib.SMTP_SSL(mailbox.host, mailbox.port, timeout=timeout_s, context=context)
    else:
        server = smtplib.SMTP(mailbox.host, mailbox.port, timeout=timeout_s)
    with server:
        server.ehlo()
        if not mailbox.is_tls:
            _start_tls(server, mailbox.host, context)
        if mailbox.login:
            server.login(mailbox.login, mailbox.password)
        refused = server.send_message(made, mailbox.sender, list(mailbox.to))
    return f"{len(mailbox.to) - len(refused)} of {len(mailbox.to)} recipients"


def _start_tls(server: smtplib.SMTP, host: str, context: ssl.SSLContext) -> None:
    if server.has_extn("starttls"):
        server.starttls(context=context)
        server.ehlo()
    elif not _is_loopback(host):
        raise smtplib.SMTPException("the server offers no STARTTLS; use smtps:// or another one")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _text(notice: AlertNotice) -> str:
    alert = notice.alert
    named = [name for name in ("severity", "kind", "cause", "note") if alert[name]]
    lines = [str(alert["title"]), "", *(f"{name}: {alert[name]}" for name in named)]
    lines.append(f"since: {_moment(alert['since'])}")
    if alert["until"] is not None:
        lines.append(f"until: {_moment(alert['until'])}")
    entities = alert["entities"]
    assert isinstance(entities, list)
    lines += ["", *(str(each) for each in entities)]
    if notice.url:
        lines += ["", notice.url]
    return "\n".join(lines) + "\n"


def _moment(at: object) -> str:
    assert isinstance(at, int | float)
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _line(text: str) -> str:
    """A header value without line breaks, which names of devices may contain."""
    return " ".join(text.split())[:200]


def _why(error: Exception) -> str:
    """The server's code and text; never what we sent, which holds the password."""
    if isinstance(error, smtplib.SMTPResponseException):
        said = error.smtp_error
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        return _line(f"{error.smtp_code} {text}")[:160]
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "every recipient was refused"
    return _line(str(error) or type(error).__name__)[:160]
