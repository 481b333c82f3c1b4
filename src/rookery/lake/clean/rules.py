"""Validation rules of landed rows. A row that breaks one goes to quarantine.

A column may be `list.field`: the rule then holds for each element. There are no rules for times, as
a wrong clock is corrected (see `clean_rows`). Values that a newer version may send, such as a new
kind of event, are kept.
"""

from collections.abc import Iterable
from typing import NamedTuple

from rookery.lake.schema import landing
from rookery.lake.schema.table import Table
from rookery.wire.fleet.telemetry import DEVICE_FIELDS
from rookery.wire.fleet.telemetry_field import TelemetryField

# Numbers that are added up have bounds, so that no sum of a day leaves 64 bits.
AMOUNT_MAX = 1e15
MILLISECONDS_MAX = 1e9
MICROSECONDS_MAX = 10**12
COUNT_MAX = (1 << 63) - 1
SIZE_MAX = 1 << 40
SEATS_MAX = 1 << 31

Number = int | float


class Required(NamedTuple):
    """Is there."""

    column: str


class Named(NamedTuple):
    """Is a text, and not an empty one."""

    column: str


class Between(NamedTuple):
    """Is a number from low to high, or unknown."""

    column: str
    low: Number
    high: Number


class OneOf(NamedTuple):
    """Is one of some texts."""

    column: str
    values: tuple[str, ...]


Rule = Required | Named | Between | OneOf


def _required(*columns: str) -> tuple[Rule, ...]:
    return tuple(Required(column) for column in columns)


def _named(*columns: str) -> tuple[Rule, ...]:
    return tuple(Named(column) for column in columns)


def _shares(*columns: str) -> tuple[Rule, ...]:
    return tuple(Between(column, 0.0, 1.0) for column in columns)


def _amounts(*columns: str) -> tuple[Rule, ...]:
    return tuple(Between(column, 0.0, AMOUNT_MAX) for column in columns)


def _milliseconds(*columns: str) -> tuple[Rule, ...]:
    return tuple(Between(column, 0.0, MILLISECONDS_MAX) for column in columns)


def _counts(*columns: str) -> tuple[Rule, ...]:
    return tuple(Between(column, 0, COUNT_MAX) for column in columns)


def _plausible(fields: Iterable[TelemetryField]) -> tuple[Rule, ...]:
    """The ranges that the wire allows."""
    return tuple(
        Between(field.public_name, field.low, field.high)
        for field in fields
        if field.in_lake and field.low is not None and field.high is not None
    )


_HEAD = (*_named("reporter"), *_counts("boot", "sequence"))
_INTERFACE_COUNTERS = tuple(
    f"interfaces.{field.name}" for field in landing.INTERFACE if field.name != "name"
)

RULES: dict[str, tuple[Rule, ...]] = {
    landing.DEVICE_REPORTS.name: (
        *_HEAD,
        *_plausible(DEVICE_FIELDS),
        *_named("interfaces.name"),
        *_counts(*_INTERFACE_COUNTERS),
        *_named("links.peer"),
        *_milliseconds("links.rtt_ms"),
        *_amounts("links.rate_kbps"),
        *_shares("links.loss"),
    ),
    landing.SERVER_REPORTS.name: (
        *_HEAD,
        *_required("seats_max", "seats_used"),
        Between("seats_max", 0, SEATS_MAX),
        Between("seats_used", 0, SEATS_MAX),
        *_shares("cpu", "mem"),
    ),
    landing.CALLS.name: (*_HEAD, *_named("router", "method"), *_milliseconds("ms")),
    landing.ENROLMENTS.name: (
        *_HEAD,
        OneOf("kind", ("router", "server")),
        *_named("hashname"),
    ),
    landing.SECURITY_EVENTS.name: (*_HEAD, *_named("event")),
    landing.LINK_SAMPLES.name: (
        *_HEAD,
        *_named("realm", "node", "peer"),
        *_required("is_up"),
        *_milliseconds("rtt_ms", "jitter_ms"),
        *_amounts("rate_kbps"),
        *_shares("loss_in", "loss_out"),
        Between("cost_us", 0, MICROSECONDS_MAX),
    ),
    landing.RECORD_CHANGES.name: (
        *_HEAD,
        *_named("realm", "node"),
        *_required("epoch", "number"),
        *_counts("epoch", "number", "lifetime_s"),
        *_named("links.peer"),
        Between("links.cost_us", 0, MICROSECONDS_MAX),
    ),
    landing.DECISIONS.name: (
        *_HEAD,
        *_named("realm", "source", "destination", "verdict"),
        Between("cost_us", 0, MICROSECONDS_MAX),
        *_counts("candidates"),
    ),
    landing.SESSIONS.name: (
        *_HEAD,
        *_named("router"),
        *_required("opened_at", "closed_at"),
        *_counts("sent_bytes", "received_bytes"),
    ),
    landing.REQUESTS.name: (
        *_HEAD,
        *_named("node", "peer", "fate"),
        *_required("submitted_at", "ended_at"),
        *_counts("number", "attempts"),
        Between("size", 0, SIZE_MAX),
    ),
    landing.MESSAGES.name: (
        *_HEAD,
        *_named("theme"),
        *_required("size"),
        Between("qos", 0, 2),
        Between("size", 0, SIZE_MAX),
    ),
}


def rules(table: Table) -> tuple[Rule, ...]:
    """Of a table in landing, or the one in clean that is made from it."""
    return RULES[table.name]
