"""Actions of operators on alerts; each is audited."""

from rookery.store.alerts.alert import Alert
from rookery.web.accounts.caller import Caller
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite

_ID_MAX = (1 << 63) - 1


async def acknowledge(site: WebSite, caller: Caller, number: int, origin: RequestOrigin) -> Alert:
    """Take charge of an alert."""
    found = await site.alerts.acknowledge(min(number, _ID_MAX), caller.login, now=site.wall())
    alert = _known(found)
    await record_audit(site, caller.login, "alert.acknowledge", str(number), origin)
    return alert


async def mute(
    site: WebSite, caller: Caller, number: int, seconds: float, origin: RequestOrigin
) -> Alert:
    """Send no notifications for that long; 0: send them again."""
    now = site.wall()
    found = await site.alerts.mute(min(number, _ID_MAX), caller.login, now + seconds, now=now)
    alert = _known(found)
    detail = {"seconds": seconds}
    await record_audit(site, caller.login, "alert.mute", str(number), origin, detail=detail)
    return alert


def _known(alert: Alert | None) -> Alert:
    if alert is None:
        raise RequestRefusedError(404, "unknown", "there is no such alert")
    return alert
