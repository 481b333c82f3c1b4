"""A part that cannot do it."""

from bench.figure import Effort, Row


def measure(effort: Effort) -> list[Row]:
    raise TimeoutError("a child process does not answer\nand more that nobody needs in a table")
