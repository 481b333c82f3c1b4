"""bench/results.md: what was measured and where, the goals of all parts, then part by part.

# Results            when and where all parts were measured, and how to read it
## Goals             one row for each figure that has a goal
## Tunnels           a section for each part; one that was measured apart says when and where
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

from bench.part_process import Measured
from bench.parts import PARTS
from bench.table import MISSED, NOT_MEASURED, goal_cells, lined, table, unlined

TITLE = "# Results"
GOALS = "Goals"
FAILED = "**failed**"

_HEADER = ("part", "figure", "ratio", "against", "rookery", "goal", "result")
_LEGEND = (
    "*Ratio* is *value* divided by what stands *beside it* and was measured in turns with it: the"
    " bare limit of this machine, or another program at the same work."
    " More is better for what is counted per second, less for times, memory and processor."
    " A figure is the median of its runs unless it says otherwise."
    f" What falls short of its goal is {MISSED}."
    " Absolute figures are those of this machine; read the ratios."
)
_WHOLE = "All parts one after the other by `make bench`, of rookery as it is installed:"
_APART = "Nothing was measured as a whole yet; each section says when and where it was."
_ORDER = {part.title: number for number, part in enumerate(PARTS)}


class Page(NamedTuple):
    """The text of each section by its title, and the rows of the goals."""

    head: str
    goals: tuple[tuple[str, ...], ...]
    sections: Mapping[str, str]

    @classmethod
    def whole(cls, where: Mapping[str, str], results: Sequence[Measured]) -> Self:
        """Everything measured at once."""
        facts = "\n".join(f"- {name}: {fact}" for name, fact in where.items())
        page = cls(f"{TITLE}\n\n{_WHOLE}\n\n{facts}\n\n{_LEGEND}", (), {})
        for result in results:
            page = page._with(result, "")
        return page

    @classmethod
    def parse(cls, text: str) -> Self:
        """One that was written here; of anything else nothing is kept."""
        head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
        sections = {title: body for title, _, body in (part.partition("\n\n") for part in parts)}
        if not head.startswith(TITLE) or GOALS not in sections:
            return cls(f"{TITLE}\n\n{_APART}\n\n{_LEGEND}", (), {})
        goals = unlined(sections.pop(GOALS))
        return cls(head.rstrip(), tuple(goals), {k: v.rstrip() for k, v in sections.items()})

    def with_part(self, where: Mapping[str, str], result: Measured) -> Self:
        """The same page with another section for this part, which says when and where."""
        facts = "; ".join(f"{name.lower()}: {fact}" for name, fact in where.items())
        told = f"Measured apart by `make bench PART={result.part.name}`; {facts}."
        return self._with(result, f"{told}\n\n")

    def _with(self, result: Measured, before: str) -> Self:
        title = result.part.title
        sections = {**self.sections, title: before + _body(result)}
        goals = [row for row in self.goals if row[0] != _link(title)] + _goals(result)
        goals.sort(key=lambda row: _place(row[0].strip("[").partition("]")[0]))
        ordered = dict(sorted(sections.items(), key=lambda section: _place(section[0])))
        return self._replace(goals=tuple(goals), sections=ordered)

    def __str__(self) -> str:
        goals = f"{_summary(self.goals)}\n\n{lined(_HEADER, self.goals)}"
        sections = {GOALS: goals, **self.sections}
        texts = [self.head, *(f"## {title}\n\n{body}" for title, body in sections.items())]
        return "\n\n".join(texts) + "\n"


def _body(result: Measured) -> str:
    return f"{FAILED}: {result.failure}" if result.failure else table(result.rows)


def _goals(result: Measured) -> list[tuple[str, ...]]:
    link = _link(result.part.title)
    if result.failure:
        return [(link, "all of it", "", "", "", "", FAILED)]
    return [(link, *goal_cells(row)) for row in result.rows if row.goal is not None]


def _summary(goals: Sequence[Sequence[str]]) -> str:
    counts = {
        word: sum(row[-1] == cell for row in goals)
        for word, cell in (
            ("met", "met"),
            ("missed", MISSED),
            (NOT_MEASURED, NOT_MEASURED),
            ("failed", FAILED),
        )
    }
    told = [f"{count} {word}" for word, count in counts.items() if count or word == "met"]
    return f"{', '.join(told)}."


def _link(title: str) -> str:
    return f"[{title}](#{re.sub(r'[^a-z0-9-]', '', title.lower().replace(' ', '-'))})"


def _place(title: str) -> int:
    return _ORDER.get(title, len(_ORDER))
