"""Steps at the same time, each behind those that it builds on (P1)."""

from dataclasses import replace
from threading import Barrier, Lock

import pytest

from rookery.lake.engine.parallel import PARALLEL_STEPS, StepWork, run_parallel
from rookery.lake.engine.progress import StepOutcome, StepReport
from rookery.lake.engine.step import LakeStep, TransformStep
from tests.lake import counters
from tests.patience import PATIENCE_S


def step(name: str, *sources: str) -> TransformStep:
    target, *read = (replace(counters.STEPS, name=each) for each in (name, *sources))
    return TransformStep(target, tuple(read), counters.steps)


def report(each: LakeStep) -> StepReport:
    return StepReport(each.target.path, StepOutcome.DONE)


def test_steps_that_do_not_build_on_each_other_go_on_at_the_same_time() -> None:
    """All of them meet, or the barrier breaks."""
    steps = [step(f"{number}") for number in range(PARALLEL_STEPS)]
    barrier = Barrier(PARALLEL_STEPS)

    def work(number: int, each: LakeStep) -> StepWork:
        def met() -> StepReport:
            barrier.wait(PATIENCE_S)
            return report(each)

        return met

    reports = run_parallel(steps, work, lambda ended: None)
    assert [each.step for each in reports] == [each.target.path for each in steps]


def test_a_step_begins_when_all_that_it_builds_on_is_over() -> None:
    steps = [step("a"), step("b"), step("c", "a", "elsewhere"), step("d", "c", "b"), step("e")]
    over: list[str] = []
    seen: dict[str, set[str]] = {}

    def work(number: int, each: LakeStep) -> StepWork:
        seen[each.target.name] = set(over)
        return lambda: report(each)

    def ended(report: StepReport) -> None:
        over.append(report.step.removeprefix("facts/"))

    reports = run_parallel(steps, work, ended)
    assert seen["c"] >= {"a"}
    assert seen["d"] >= {"a", "b", "c"}
    assert [each.step for each in reports] == [f"facts/{name}" for name in "abcde"]


def test_there_are_never_more_at_once_than_there_should_be() -> None:
    counting = Lock()
    running, most = 0, 0

    def work(number: int, each: LakeStep) -> StepWork:
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)
        return lambda: report(each)

    def ended(report: StepReport) -> None:
        nonlocal running
        with counting:
            running -= 1

    run_parallel([step(f"{number}") for number in range(40)], work, ended)
    assert most == PARALLEL_STEPS


def test_an_unexpected_error_ends_the_run() -> None:
    def fail() -> StepReport:
        raise ZeroDivisionError("a bug of ours")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        run_parallel([step("a"), step("b", "a")], lambda number, each: fail, lambda report: None)
