"""The data dictionary: every table and column, from the schemas.

python -m rookery.lake.schema.dictionary > docs/lake-dictionary.md
"""

import sys
from collections.abc import Iterator

import pyarrow as pa

from rookery.lake.schema.catalog import TABLES
from rookery.lake.schema.table import TIMESTAMP, Column, Table

_STAGES = {
    "landing": "Observations as they came, typed, in order of arrival; nothing is judged yet.",
    "quarantine": "What cannot be taken for what it says it is, with the reason.",
    "clean": "Observations that can be relied on, each once, at the time it happened.",
    "facts": "What follows from clean observations without judging.",
    "insights": "What facts mean. Every row carries its lineage.",
}
_INTRODUCTION = """\
# The lake's data dictionary

Every table of the lake, from the schemas in `rookery/lake/schema`; a test keeps this page equal to
them. How to ask: [guides/lake.md](guides/lake.md).

All tables are Delta tables below the lake's folder or URL, by stage and name. In SQL the names have
a dot: `clean.device_reports`. Times are UTC. Tables with a `date` are partitioned by it. A key
names the columns that no two rows have in common.
"""


def dictionary_page() -> str:
    """The whole page."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    for stage, text in _STAGES.items():
        tables = [table for table in TABLES if table.stage == stage]
        yield f"## {stage}\n\n{text}\n"
        for table in tables:
            yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"### {table.path}\n\n{_sentence(table.text)}\n"
    yield f"- Key: {', '.join(f'`{name}`' for name in table.key)}"
    made_of = ", ".join(f"`{path}`" for path in table.sources)
    yield f"- Made from: {made_of or 'spools'}"
    if not table.is_dated:
        yield "- Replaced as a whole"
    yield "\n| Column | Type | Unit | Definition |\n|---|---|---|---|"
    yield from map(_row, table.columns)
    yield ""


def _row(column: Column) -> str:
    cells = (f"`{column.name}`", f"`{type_text(column.type)}`", column.unit, _sentence(column.text))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def type_text(kind: pa.DataType) -> str:
    """A type as people say it, with the fields of what is nested."""
    if pa.types.is_list(kind):
        return f"list of {type_text(kind.value_type)}"
    if pa.types.is_struct(kind):
        return f"struct({', '.join(f'{field.name} {type_text(field.type)}' for field in kind)})"
    if kind == TIMESTAMP:
        return "timestamp"
    return {"int64": "long", "bool": "boolean", "date32[day]": "date"}.get(str(kind), str(kind))


if __name__ == "__main__":
    sys.stdout.write(dictionary_page())
