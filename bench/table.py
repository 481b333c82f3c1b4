"""The figures as a Markdown table, for the terminal and for `results.md`."""

from collections.abc import Iterable, Mapping, Sequence

from bench.figure import Figure

_HEADER = ("what", "rookery", "unit", "limit", "ratio", "against", "remark")


def document(machine: str, sections: Mapping[str, Sequence[Figure]]) -> str:
    """The whole page."""
    parts = [
        "# Results",
        f"Measured by `python -m bench` on {machine}.",
        "Two processes on loopback; each figure is a median of several runs, and each limit was "
        "measured next to it in the same run. The machine is shared and noisy, so read the ratios.",
    ]
    for title, figures in sections.items():
        parts += [f"## {title}", table(figures)]
    return "\n\n".join(parts) + "\n"


def table(figures: Iterable[Figure]) -> str:
    rows = [_HEADER, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    lines = [_line(row, widths) for row in rows]
    return "\n".join([lines[0], _line(["-" * width for width in widths], widths), *lines[1:]])


def _row(figure: Figure) -> tuple[str, ...]:
    limit = "" if figure.limit is None else _number(figure.limit)
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    value = _number(figure.value)
    return figure.what, value, figure.unit, limit, ratio, figure.against, figure.remark


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(map(str.ljust, cells, widths)) + " |"


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
