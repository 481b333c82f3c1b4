"""Silence of devices, as alerts: one for each, or one for what those that went together share.

Devices that share a site or a mesh node go silent together when that fails, and a hundred alerts
would say less than one that names it. What is shared counts as the cause if enough of those who
share it are silent; the one that explains most comes first. A group that is open stays one until
its last device is back.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import msgspec

from rookery.fleet.alerts.alert import AlertCondition

GROUP_MIN = 3
GROUP_SHARE_MIN = 0.5  # of all that share it
NOTHING = "nothing that the hub knows of"
_NO_NAMES: Mapping[str, str] = {}
_TOGETHER_MIN = 10  # silent ones without anything in common, which are one alert all the same


class SeenDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device that has an owner, as of its last report."""

    mac: str
    name: str
    is_silent: bool
    last_seen: float  # wall seconds
    shares: tuple[str, ...] = ()  # "site 192.0.2.0/24", "node HASHNAME"


def silences(
    devices: Sequence[SeenDevice],
    open_keys: Collection[str],
    names: Mapping[str, str] = _NO_NAMES,
) -> list[AlertCondition]:
    """What to tell of those that are silent; `names` are of what they share."""
    left = {each.mac: each for each in devices if each.is_silent}
    sharing: dict[str, set[str]] = defaultdict(set)
    totals: dict[str, int] = defaultdict(int)
    for device in devices:
        for shared in device.shares:
            totals[shared] += 1
            if device.is_silent:
                sharing[shared].add(device.mac)
    conditions = []
    while cause := _best(sharing, totals, open_keys):
        macs = sharing.pop(cause)
        silent = [left.pop(mac) for mac in sorted(macs)]
        conditions.append(_group(cause, names.get(cause, cause), silent, totals[cause]))
        for others in sharing.values():
            others -= macs
    rest = [left[mac] for mac in sorted(left)]
    if len(rest) >= _TOGETHER_MIN or (rest and _group_key(NOTHING) in open_keys):
        return [*conditions, _group(NOTHING, "", rest, len(devices))]
    return [*conditions, *(_single(device) for device in rest)]


def device_key(mac: str) -> str:
    """Of the alert about one device."""
    return f"device silent {mac}"


def _group_key(cause: str) -> str:
    return f"devices silent {cause}"


def _best(
    sharing: dict[str, set[str]], totals: dict[str, int], open_keys: Collection[str]
) -> str | None:
    fit = [
        shared
        for shared, macs in sharing.items()
        if macs
        and (
            _group_key(shared) in open_keys
            or (len(macs) >= GROUP_MIN and len(macs) >= GROUP_SHARE_MIN * totals[shared])
        )
    ]
    # Of two that explain as much the rarer, which is less likely to do so by chance.
    return min(
        fit,
        key=lambda each: (
            _group_key(each) not in open_keys,
            -len(sharing[each]),
            totals[each],
            each,
        ),
        default=None,
    )


def _group(cause: str, name: str, silent: Sequence[SeenDevice], total: int) -> AlertCondition:
    devices = "1 device is" if len(silent) == 1 else f"{len(silent)} devices are"
    return AlertCondition(
        key=_group_key(cause),
        kind="devices_silent",
        severity="critical",
        title=f"{devices} silent: {name}" if name else f"{devices} silent at once",
        cause="" if cause == NOTHING else cause,
        entities=tuple(f"router {each.mac}" for each in silent),
        note=f"{len(silent)} of {total}",
        began_at=min(each.last_seen for each in silent),
        absorbs=tuple(device_key(each.mac) for each in silent),
    )


def _single(device: SeenDevice) -> AlertCondition:
    return AlertCondition(
        key=device_key(device.mac),
        kind="device_silent",
        severity="warning",
        title=f"{device.name or device.mac} is silent",
        entities=(f"router {device.mac}",),
        began_at=device.last_seen,
    )
