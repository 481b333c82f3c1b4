"""Alert: something is the matter, since when, and with what.

    what can be seen ──▶ rules ──▶ conditions ──▶ tracker ──▶ raised, changed, resolved

A condition is what a look at the fleet finds right now; it is found anew at every look, under the
same key. An alert is one that lasted, and is told once, however often it is found.
"""

from typing import Literal

import msgspec

Severity = Literal["critical", "warning", "notice"]
AlertKind = Literal[
    "device_silent",
    "devices_silent",  # several at once, which have something in common
    "server_silent",
    "server_full",
    "spool_behind",
    "spool_full",
    "lake_stale",
    "member_gone",
    "link_down",
    "link_lossy",
    "security",
    "insight",  # what an analysis of the past found to go on
]

RANKS: dict[Severity, int] = {"notice": 0, "warning": 1, "critical": 2}
KEY_SIZE_MAX = 160
TITLE_SIZE_MAX = 255
ENTITIES_MAX = 200  # that an alert names; how many there are is told besides


class AlertCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What is the matter right now."""

    key: str
    kind: AlertKind
    severity: Severity
    title: str
    cause: str = ""  # what they have in common, as "site 192.0.2.0/24"
    entities: tuple[str, ...] = ()  # "router 02:…", "server …", "member …", "link … …"
    note: str = ""  # figures, which change from look to look
    began_at: float | None = None  # where that is known better than from when it was found
    absorbs: tuple[str, ...] = ()  # keys of lesser alerts that are part of this one
    is_immediate: bool = False  # is told at once: it will not go away by itself in a moment


class AlertRaised(msgspec.Struct, frozen=True):
    """A condition lasted: notify people."""

    condition: AlertCondition
    since: float


class AlertChanged(msgspec.Struct, frozen=True):
    """An open alert is not what it was."""

    condition: AlertCondition
    how: Literal["worse", "grew", "otherwise"]


class AlertResolved(msgspec.Struct, frozen=True):
    """It is over."""

    key: str
    until: float
    why: str = ""  # empty: it went away


AlertTransition = AlertRaised | AlertChanged | AlertResolved


def fitted(condition: AlertCondition) -> AlertCondition:
    """The same, with nothing longer than it may be kept."""
    return msgspec.structs.replace(
        condition,
        key=condition.key[:KEY_SIZE_MAX],
        title=condition.title[:TITLE_SIZE_MAX],
        cause=condition.cause[:TITLE_SIZE_MAX],
        note=condition.note[:TITLE_SIZE_MAX],
        entities=condition.entities[:ENTITIES_MAX],
    )
