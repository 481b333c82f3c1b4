"""Rows as Markdown tables: the figures of one part, and the goals of all."""

from collections.abc import Iterable, Sequence
from textwrap import shorten

from bench.figure import Figure, Goal, Missing, Row

MISSED = "**missed**"
NOT_MEASURED = "not measured"

_WHY_MAX = 160
_FIGURES = ("ratio", "figure", "value", "beside it", "unit", "against", "goal", "remark")


def table(rows: Iterable[Row]) -> str:
    """The figures of one part."""
    return lined(_FIGURES, [_cells(row) for row in rows])


def goal_cells(row: Row) -> tuple[str, ...]:
    """Figure, ratio, what it is a ratio to, value, goal, and whether it is met."""
    assert row.goal is not None
    if isinstance(row, Missing):
        goal = goal_text(row.goal, "")
        return row.what, "", row.against, "", goal, NOT_MEASURED
    value = f"{number(row.value)} {row.unit}"
    goal = goal_text(row.goal, row.unit)
    return row.what, ratio(row.ratio), row.against, value, goal, "met" if row.is_met else MISSED


def goal_text(goal: Goal, unit: str) -> str:
    """As one reads it: `ratio ≥ 0.1, ≥ 60,000 reports/s`."""
    bounds = (
        ("ratio ≥", goal.ratio_min, ""),
        ("ratio ≤", goal.ratio_max, ""),
        ("≥", goal.value_min, unit),
        ("≤", goal.value_max, unit),
    )
    return ", ".join(
        f"{sign} {bound:,g} {unit}".rstrip() for sign, bound, unit in bounds if bound is not None
    )


def lined(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells in columns of equal width."""
    every = [header, *(tuple(map(_plain, row)) for row in rows)]
    widths = [max(len(row[column]) for row in every) for column in range(len(header))]
    lines = [_line(row, widths) for row in every]
    return "\n".join([lines[0], _line(["-" * width for width in widths], widths), *lines[1:]])


def unlined(text: str) -> list[tuple[str, ...]]:
    """The rows of a table that `lined` has made, without its header."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [tuple(map(str.strip, line.strip("|").split("|"))) for line in lines[2:]]


def number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def ratio(value: float | None) -> str:
    """Two digits also where it is tiny."""
    if value is None:
        return ""
    return number(value) if value >= 0.1 or value == 0 else f"{value:.2g}"


def _cells(row: Row) -> tuple[str, ...]:
    if isinstance(row, Missing):
        goal = "" if row.goal is None else goal_text(row.goal, "")
        return (
            "",
            row.what,
            "",
            "",
            "",
            row.against,
            goal,
            f"{NOT_MEASURED}: {shorten(row.why, _WHY_MAX)}",
        )
    limit = "" if row.limit is None else number(row.limit)
    value = number(row.value)
    return ratio(row.ratio), row.what, value, limit, row.unit, row.against, _goal(row), row.remark


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    goal = goal_text(figure.goal, figure.unit)
    return goal if figure.is_met else f"{goal}: {MISSED}"


def _plain(cell: str) -> str:
    """What would end a cell or a row is none of it."""
    return " ".join(cell.replace("|", "/").split())


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(map(str.ljust, cells, widths)) + " |"
