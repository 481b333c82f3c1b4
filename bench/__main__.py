"""`python -m bench [--quick] [PART …]`: the parts one after the other, and bench/results.md."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

from bench import machine
from bench.figure import FULL, QUICK, Effort
from bench.options import parse
from bench.page import Page
from bench.part_process import Measured, measured
from bench.parts import OTHERS, PARTS, Part
from bench.table import table

_NAME = machine.RESULTS.relative_to(machine.ROOT)


def main() -> int:
    options = parse()
    for name in [name for name in OTHERS if name in options.parts]:
        import_module(f"bench.{name}").main()
    parts = [part for part in PARTS if not options.parts or part.name in options.parts]
    if not parts:
        return 0
    where = machine.facts()
    hindrance = _hindrance(options)
    told = f"not written to a file: {hindrance}" if hindrance else f"written to {_NAME} in the end"
    print("\n".join(f"{name}: {fact}" for name, fact in where.items()), told, sep="\n", flush=True)
    results = run([_sized(part, options.rows) for part in parts], _effort(options))
    where["Duration"] = _duration(sum(result.seconds for result in results))
    if hindrance is None:
        page = Page.whole(where, results) if not options.parts else _replaced(where, results)
        machine.RESULTS.write_text(str(page))
    return 1 if any(result.failure for result in results) else 0


def run(parts: Sequence[Part], effort: Effort) -> list[Measured]:
    """One part after the other; what fails is told, and the next one begins."""
    results = []
    for number, part in enumerate(parts, start=1):
        place = f"[{number}/{len(parts)}] {part.name}"
        left_s = sum(each.expected_s for each in parts[number - 1 :])
        times = f", about {_duration(part.expected_s)}; with all that follow {_duration(left_s)}"
        print(f"\n{place}{'' if effort.is_quick else times}", flush=True)
        result = measured(part, effort)
        print(f"failed: {result.failure}" if result.failure else table(result.rows))
        print(f"{place} took {_duration(result.seconds)}", flush=True)
        results.append(result)
    return results


def _replaced(where: dict[str, str], results: Sequence[Measured]) -> Page:
    text = machine.RESULTS.read_text() if machine.RESULTS.exists() else ""
    page = Page.parse(text)
    for result in results:
        page = page.with_part(where, result)
    return page


def _hindrance(options: argparse.Namespace) -> str | None:
    if options.quick:
        return "a quick run only shows that it works"
    if options.rows:
        return "the lake's section has its usual size"
    told = machine.obstacle()
    return None if told is None else f"{told}; `make bench` measures what is installed"


def _effort(options: argparse.Namespace) -> Effort:
    effort = replace(QUICK if options.quick else FULL, history=options.history)
    return replace(effort, rows=tuple(options.rows)) if options.rows else effort


def _sized(part: Part, rows: Sequence[int] | None) -> Part:
    """Other rows of the lake take another time."""
    if part.name != "lake" or not rows:
        return part
    return part._replace(expected_s=part.expected_s * max(1.0, sum(rows) / sum(FULL.rows)))


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


if __name__ == "__main__":
    sys.exit(main())
