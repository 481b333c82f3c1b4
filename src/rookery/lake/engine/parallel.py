"""Runs steps in parallel that do not depend on each other.

    clean/calls ───▶ facts/call_hours ──┐
    clean/sessions ─▶ facts/sessions    ├─▶ insights/anomalies
    clean/… ───────▶ facts/server_hours ┘

Most steps of most runs are small: their cost is planning, which keeps one core busy at best.
"""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple

from rookery.lake.engine.progress import StepReport
from rookery.lake.engine.step import LakeStep

PARALLEL_STEPS = 4

StepWork = Callable[[], StepReport]


class _StepResult(NamedTuple):
    number: int
    result: StepReport | BaseException


def run_parallel(
    steps: Sequence[LakeStep],
    work: Callable[[int, LakeStep], StepWork],
    on_report: Callable[[StepReport], None],
) -> tuple[StepReport, ...]:
    """Reports in the order of the steps; each step begins when its sources are done.

    `work` and `on_report` are called in the caller's thread, what `work` returns in another one.
    """
    orders: SimpleQueue[tuple[int, StepWork] | None] = SimpleQueue()
    over: SimpleQueue[_StepResult] = SimpleQueue()
    waiting = dict(enumerate(steps))
    running: set[int] = set()
    reports: dict[int, StepReport] = {}
    # Daemons, so that an interrupt in the middle of a job need not wait for its end.
    crew = [
        Thread(target=_run_orders, args=(orders, over), daemon=True) for _ in range(PARALLEL_STEPS)
    ]
    for thread in crew:
        thread.start()
    try:
        while waiting or running:
            for number in _ready(steps, waiting, running)[: PARALLEL_STEPS - len(running)]:
                running.add(number)
                orders.put((number, work(number, waiting.pop(number))))
            number, result = over.get()
            if isinstance(result, BaseException):
                raise result
            running.remove(number)
            reports[number] = result
            on_report(result)
    finally:
        for _ in crew:
            orders.put(None)
    return tuple(reports[number] for number in range(len(steps)))


def _ready(steps: Sequence[LakeStep], waiting: dict[int, LakeStep], running: set[int]) -> list[int]:
    """Waiting steps, in order, none of whose sources is running or still waiting."""
    to_come = {steps[number].target.path for number in (*waiting, *running)}
    return [
        number
        for number, step in waiting.items()
        if to_come.isdisjoint(source.path for source in step.sources)
    ]


def _run_orders(
    orders: "SimpleQueue[tuple[int, StepWork] | None]", over: "SimpleQueue[_StepResult]"
) -> None:
    while (order := orders.get()) is not None:
        number, work = order
        try:
            over.put(_StepResult(number, work()))
        except BaseException as error:  # raised again in the caller's thread
            over.put(_StepResult(number, error))
