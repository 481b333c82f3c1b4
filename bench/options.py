"""What the bench is told on its command line; the same where it is only prepared."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.parts import NAMES, OTHERS, unknown

_ABOUT = """Measure all parts, or some. `make bench` runs it where rookery is installed as anybody
installs it; then bench/results.md is written: the whole page, or the sections of the parts that are
named. Elsewhere, with --quick and with --rows, figures are only printed. profile, fuzz, flood and
mesh_large have no section and run only when named."""


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options; ends the program with one line about parts that there are not."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=_ABOUT)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join((*NAMES, *OTHERS)))
    parser.add_argument("--quick", action="store_true", help="only see that it works")
    parser.add_argument("--rows", type=int, action="append", help="of the lake; may be repeated")
    parser.add_argument("--history", type=Path, help="keeps the lake's histories, for another time")
    options = parser.parse_args(words)
    if told := unknown(options.parts):
        parser.exit(2, f"{told}\n")
    return options
