"""Deletes expired sessions and codes, old alerts and audit rows."""

import asyncio
import logging
from contextlib import suppress

from rookery.errors import RookeryError
from rookery.web.settings import DAY_S
from rookery.web.site import WebSite

INTERVAL_S = 3600.0
_CODES_KEPT_S = 30 * DAY_S  # after they expired, so that people see what became of them

_log = logging.getLogger(__name__)


async def run_housekeeping(site: WebSite) -> None:
    """Once at the start and every hour, until cancelled; several hubs may do so at once."""
    while True:
        with suppress(RookeryError):  # a store that does not answer: try next time
            await remove_expired(site)
        await asyncio.sleep(INTERVAL_S)


async def remove_expired(site: WebSite) -> None:
    """Everything that is due now."""
    now = site.wall()
    sessions = await site.sessions.purge(now)
    codes = await site.codes.purge(now - _CODES_KEPT_S)
    rows = await site.audit.purge(now - site.settings.audit_s)
    alerts = await site.alerts.purge(now - site.settings.alerts_s)
    if sessions or codes or rows or alerts:
        text = "forgot %d sessions, %d codes, %d rows of the audit, %d alerts"
        _log.info(text, sessions, codes, rows, alerts)
