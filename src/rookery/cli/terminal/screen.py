"""What a verb prints: JSON with a version for programs, plain lines and tables for people."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

import msgspec

from rookery.wire.link.uri import LinkAddress

VERSION = 1

Json = Mapping[str, object]


def print_json(value: Json) -> None:
    """One object on one line, flushed at once."""
    text = msgspec.json.encode({"v": VERSION, **value}).decode()
    print(text, flush=True)


def print_fields(fields: Iterable[tuple[str, object]]) -> None:
    """One named value a line, the values below each other."""
    rows = [(name, value) for name, value in fields if value is not None]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        print(f"{name:<{width}}  {printable(str(value))}", flush=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table that fits the terminal; in a file or pipe every cell keeps its full length."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console() if sys.stdout.isatty() else Console(width=400)
    console.print(table)


def remark(text: str, file: TextIO | None = None) -> None:
    """A remark for people, on stderr, so that pipes carry the result only."""
    print(printable(text), file=file or sys.stderr, flush=True)


def printable(text: str) -> str:
    """A peer's text without what would steer the terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def print_link(address: LinkAddress, *, is_versioned: bool) -> None:
    """Our own link, on a line of its own that a reader sees at once."""
    link = address.json()
    if is_versioned:
        print_json({**link, "uri": address.uri()})
    else:
        print(msgspec.json.encode(link).decode(), flush=True)
