"""Finds files of a table that cannot be read, before they fail a whole step.

`sound` reads footers alone, a few kilobytes of each file: a truncated one has none, and one with
columns of other types says so there. Damage within the columns only a whole read finds: `readable`
is for the files of a read that failed although all were sound. Both raise LocalError where it is
the disk or the store that fails.
"""

from collections.abc import Callable, Iterable

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from rookery.errors import LocalError
from rookery.lake.engine import parquet
from rookery.lake.schema.table import Table

DamagedFile = tuple[str, str]  # URI, and what is wrong

_REASON_SIZE_MAX = 300
_READ_SIZE = 1 << 20
_FAMILIES = (  # writers choose one, readers take any
    {pa.string(), pa.large_string(), pa.string_view()},
    {pa.binary(), pa.large_binary(), pa.binary_view()},
)


def sound(uris: Iterable[str], table: Table | None = None) -> tuple[list[str], list[DamagedFile]]:
    """Those with a footer that fits the table, and the others with the reason."""

    def check(system: fs.FileSystem, path: str) -> None:
        _check_schema(pq.read_schema(path, filesystem=system), table)

    return _partition(uris, check)


def readable(
    uris: Iterable[str], table: Table | None = None
) -> tuple[list[str], list[DamagedFile]]:
    """Those that can be read to their ends, and the others with the reason; slow."""

    def check(system: fs.FileSystem, path: str) -> None:
        with system.open_input_file(path) as source, pq.ParquetFile(source) as file:
            _check_schema(file.schema_arrow, table)
            for batch in file.iter_batches():
                batch.validate(full=True)

    return _partition(uris, check)


def _partition(
    uris: Iterable[str], check: Callable[[fs.FileSystem, str], None]
) -> tuple[list[str], list[DamagedFile]]:
    good, bad = [], []
    for uri in uris:
        system, path = parquet.file_system(uri)
        try:
            check(system, path)
        except FileNotFoundError:
            bad.append((uri, "the file is gone"))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            _check_store(system, path)
            bad.append((uri, str(error)[:_REASON_SIZE_MAX]))
        else:
            good.append(uri)
    return good, bad


def _check_store(system: fs.FileSystem, path: str) -> None:
    """LocalError if the store does not answer: then the file may be fine."""
    try:
        with system.open_input_stream(path) as source:
            while source.read(_READ_SIZE):
                pass
    except OSError as error:
        raise LocalError(f"{path} cannot be fetched: {error}") from error


def _check_schema(schema: pa.Schema, table: Table | None) -> None:
    """A file may lack columns and have others; those that it shares must have their types."""
    if table is None:
        return
    for field in table.arrow:
        index = schema.get_field_index(field.name)
        if index >= 0 and not _is_alike(schema.field(index).type, field.type):
            raise pa.ArrowInvalid(
                f"column {field.name} is {schema.field(index).type}, not {field.type}"
            )


def _is_alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Compare types; names of list elements differ between writers and do not matter."""
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return _is_alike(found.value_type, wanted.value_type)
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        names = {field.name for field in found} & {field.name for field in wanted}
        return all(_is_alike(found.field(name).type, wanted.field(name).type) for name in names)
    return bool(found == wanted) or any({found, wanted} <= family for family in _FAMILIES)
