"""Arrow arrays of the fields of observations, by the type of the column.

Times are wall milliseconds there and microseconds here. One after the year 9999 becomes the end of
that year: as wrong as before, but every engine can read it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import astuple

from rookery.lake.schema.table import TIMESTAMP

MS_MAX = 253_402_300_799_999  # the last millisecond of year 9999

_DAY_MS = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Build = Callable[[Sequence[object]], pa.Array]


def build(kind: pa.DataType) -> Build:
    """A function that makes a column of that type from the values of its field."""
    if kind == TIMESTAMP:
        return lambda values: times(pa.array(values, pa.int64()))
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        return lambda values: _structs(kind, values)
    return lambda values: pa.array(values, kind)


def times(ms: pa.Array) -> pa.Array:
    """Instants of milliseconds."""
    return pc.multiply(pc.min_element_wise(ms, MS_MAX, skip_nulls=False), 1000).cast(TIMESTAMP)


def instant(ms: int) -> datetime:
    """One of them."""
    return _EPOCH + timedelta(milliseconds=min(ms, MS_MAX))


def instants(seconds: Sequence[object]) -> pa.Array:
    """Instants of wall seconds as floats."""
    return times(pa.array([_milliseconds(each) for each in seconds], pa.int64()))


def dates(ms: pa.Array) -> pa.Array:
    """UTC dates of milliseconds that are not behind `MS_MAX`."""
    return pc.divide(ms, _DAY_MS).cast(pa.int32()).cast(pa.date32())


def stamps(
    at: Sequence[object], boots: Sequence[object], numbers: Sequence[object]
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """boot, sequence and at; the first two are null where the sender gave neither."""
    boot, sequence = pa.array(boots, pa.int64()), pa.array(numbers, pa.int64())
    is_stamped = pc.greater(pc.bit_wise_or(boot, sequence), 0)
    nothing = pa.scalar(None, pa.int64())
    return (
        pc.if_else(is_stamped, boot, nothing),
        pc.if_else(is_stamped, sequence, nothing),
        times(pa.array(at, pa.int64())),
    )


def _structs(kind: pa.ListType, values: Sequence[object]) -> pa.Array:
    """Of tuples of structs, or of maps from name to struct: the name is the first column then."""
    fields = list(kind.value_type)
    names: list[str] = []
    lists: Iterable[Iterable[msgspec.Struct]] = values  # type: ignore[assignment]
    if values and isinstance(values[0], dict):
        names = list(chain.from_iterable(values))  # type: ignore[arg-type]
        lists = map(dict.values, values)  # type: ignore[arg-type]
    columns = list(zip(*map(astuple, chain.from_iterable(lists)), strict=True))
    if names:
        columns.insert(0, tuple(names))
    offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())  # type: ignore[arg-type]
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(columns or [()] * len(fields), fields, strict=True)
    ]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(arrays, fields=fields))


def _milliseconds(seconds: object) -> int | None:
    assert isinstance(seconds, float)
    if math.isnan(seconds):
        return None
    return int(min(max(seconds, 0.0) * 1000, MS_MAX))
