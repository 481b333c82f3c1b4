"""A part whose process ends in the middle."""

import os

from bench.figure import Effort, Row


def measure(effort: Effort) -> list[Row]:
    os._exit(7)
