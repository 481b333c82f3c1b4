"""Alerts as they are kept: the row, what is in its detail, and what happened to it."""

from typing import Literal

import msgspec

from rookery.fleet.alerts.alert import AlertCondition, AlertKind, Severity
from rookery.store.database.rows import AnyRow, columns
from rookery.store.database.tables import alert, alert_event

TEXT_SIZE_MAX = 255
ACTOR_SIZE_MAX = 64

AlertEventKind = Literal[
    "raised",
    "worse",
    "grew",
    "acknowledged",
    "muted",
    "unmuted",
    "resolved",
    "told",  # a channel has accepted the notification
    "untold",  # the notification was given up
]


class AlertDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What it is about."""

    cause: str = ""
    entities: tuple[str, ...] = ()
    note: str = ""
    why: str = ""  # it is over, where it did not just go away


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert; times are wall seconds."""

    id: int
    key: str
    kind: AlertKind
    severity: Severity
    title: str
    detail: AlertDetail
    since: float
    raised_at: float
    changed_at: float
    until: float | None
    acknowledged_by: str
    acknowledged_at: float | None
    muted_by: str
    muted_until: float | None
    scope: str

    def is_muted(self, now: float) -> bool:
        return self.muted_until is not None and self.muted_until > now

    @property
    def condition(self) -> AlertCondition:
        """The condition that raised it, for the alert evaluator after a restart."""
        return AlertCondition(
            key=self.key,
            kind=self.kind,
            severity=self.severity,
            title=self.title,
            cause=self.detail.cause,
            entities=self.detail.entities,
            note=self.detail.note,
            began_at=self.since,
        )


class AlertEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to an alert."""

    id: int
    alert: int
    at: float
    what: AlertEventKind
    who: str  # a login; empty: the hub
    text: str


COLUMNS = columns(alert, Alert)
EVENT_COLUMNS = columns(alert_event, AlertEvent)

_encoder = msgspec.json.Encoder()


def detail_text(detail: AlertDetail) -> str:
    return _encoder.encode(detail).decode()


def condition_detail(condition: AlertCondition) -> AlertDetail:
    return AlertDetail(cause=condition.cause, entities=condition.entities, note=condition.note)


def parse_alert(row: AnyRow) -> Alert:
    """One row of `COLUMNS`."""
    values = dict(zip(Alert.__struct_fields__, row, strict=True))
    values["detail"] = msgspec.json.decode(str(values["detail"]))
    return msgspec.convert(values, Alert)
