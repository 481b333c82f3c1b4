"""A part that measures: one goal met, one missed, one peer that is not there."""

from bench.figure import Effort, Figure, Goal, Missing, Row


def measure(effort: Effort) -> list[Row]:
    return [
        Figure(what="quick", value=9.0, unit="MB/s", limit=6.0, against="a peer", goal=_GOAL),
        Figure(what="slow", value=3.0, unit="MB/s", limit=6.0, against="a peer", goal=_GOAL),
        Missing(what="lonely", against="another peer", why="no such | program", goal=_GOAL),
        Figure(what="without a goal", value=float(effort.runs), unit="runs"),
    ]


_GOAL = Goal(ratio_min=1.0)
