"""What operators do about an alert; each is on record."""

from rookery.store.alert_row import Alert
from rookery.web.callers import Caller
from rookery.web.problems import RefusedError
from rookery.web.site import Site
from rookery.web.visits import Visit, note

_ID_MAX = (1 << 63) - 1


async def acknowledge(site: Site, caller: Caller, number: int, came: Visit) -> Alert:
    """Say that one sees to it."""
    found = await site.alerts.acknowledge(min(number, _ID_MAX), caller.login, now=site.wall())
    alert = _known(found)
    await note(site, caller.login, "alert.acknowledge", str(number), came)
    return alert


async def mute(site: Site, caller: Caller, number: int, seconds: float, came: Visit) -> Alert:
    """Have nobody told for so long; 0: they are told again."""
    now = site.wall()
    found = await site.alerts.mute(min(number, _ID_MAX), caller.login, now + seconds, now=now)
    alert = _known(found)
    detail = {"seconds": seconds}
    await note(site, caller.login, "alert.mute", str(number), came, detail=detail)
    return alert


def _known(alert: Alert | None) -> Alert:
    if alert is None:
        raise RefusedError(404, "unknown", "there is no such alert")
    return alert
