"""Telemetry field: what one value that devices report means, and how it is kept and drawn.

`DeviceReport` describes each of its fields with a `Described`; `fields_of` reads the table back,
with the type, range and default that the wire has. Lake, HTTP and pages are made from it.
"""

from types import NoneType
from typing import Annotated, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

Chart = Literal["", "mean", "max"]
Number = int | float


class Described(NamedTuple):
    """Annotation of a field."""

    title: str  # of pages, in English
    text: str  # its definition, for the lake's dictionary
    unit: str = ""
    public_name: str = ""  # in HTTP answers and lake tables; empty: the same as in reports
    chart: Chart = ""  # how samples of one step are combined; empty: it is not drawn
    in_lake: bool = True


class TelemetryField(NamedTuple):
    """One line of the table."""

    name: str  # key of a report
    public_name: str
    type: type  # float, int, str, or a container
    is_optional: bool  # None: the device does not have it
    default: object
    low: Number | None  # plausible values; None: no bound
    high: Number | None
    title: str
    text: str
    unit: str
    chart: Chart
    in_lake: bool

    @property
    def is_scalar(self) -> bool:
        return self.type in {float, int, str}

    @property
    def annotation(self) -> object:
        """Its type without bounds."""
        return self.type | None if self.is_optional else self.type


def fields_of(struct: type[msgspec.Struct]) -> tuple[TelemetryField, ...]:
    """The described fields of a report, in its order."""
    hints = get_type_hints(struct, include_extras=True)
    defaults = {each.name: each.default for each in msgspec.structs.fields(struct)}
    return tuple(
        _field(name, hint, described, defaults[name])
        for name, hint in hints.items()
        for described in getattr(hint, "__metadata__", ())
        if isinstance(described, Described)
    )


def _field(name: str, hint: object, described: Described, default: object) -> TelemetryField:
    found = get_args(hint)[0]
    metadata = getattr(hint, "__metadata__", ())
    is_optional = NoneType in get_args(found)
    if is_optional:
        (found,) = (each for each in get_args(found) if each is not NoneType)
        metadata = getattr(found, "__metadata__", ())
    if get_origin(found) is Annotated:
        found = get_args(found)[0]
    bounds = next((each for each in metadata if isinstance(each, Meta)), Meta())
    return TelemetryField(
        name=name,
        public_name=described.public_name or name,
        type=get_origin(found) or found,
        is_optional=is_optional,
        default=default,
        low=bounds.ge,
        high=bounds.le,
        title=described.title,
        text=described.text,
        unit=described.unit,
        chart=described.chart,
        in_lake=described.in_lake,
    )
