"""`rookery lake tables`: the tables and their columns."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli import extras
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json, print_table
from rookery.errors import UsageError


def tables(
    name: Annotated[
        str | None, Parameter(name="TABLE", help="Only this one, column by column.")
    ] = None,
    /,
    *,
    output: Output = OUTPUT,
) -> int:
    extras.need("the lake", extras.TABLES, "lake")
    from rookery.lake.schema.catalog import BY_PATH, TABLES

    if name is None:
        if output.json:
            for each in TABLES:
                print_json({"table": each.path, "text": each.text, "key": list(each.key)})
        else:
            print_table(
                ("table", "what it holds"),
                [(each.path.replace("/", "."), each.text) for each in TABLES],
            )
        return OK
    table = BY_PATH.get(name.replace(".", "/"))
    if table is None:
        raise UsageError(f"there is no table {name!r}; see: rookery lake tables")
    if output.json:
        for column in table.columns:
            values = {"type": str(column.type), "unit": column.unit, "text": column.text}
            print_json({"column": column.name, **values})
        return OK
    print_fields(
        [
            ("table", table.path.replace("/", ".")),
            ("holds", table.text),
            ("key", ", ".join(table.key)),
            ("made from", ", ".join(table.sources) or "spools"),
        ]
    )
    rows = [(each.name, str(each.type), each.unit, each.text) for each in table.columns]
    print_table(("column", "type", "unit", "what it is"), rows)
    return OK
