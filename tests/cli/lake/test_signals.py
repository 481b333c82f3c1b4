"""Signals that ask work to end, also at the worst of moments."""

import os
import signal
from collections.abc import Iterator
from threading import Timer

import pytest

from rookery.cli.lake.signals import repeated, until_signal
from rookery.cli.terminal.exit_codes import OK
from rookery.errors import UnreachableError

PAUSE_S = 5.0
LONG_S = 3600.0


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class TroubleError(UnreachableError):
    """Gets a signal while it is finalized, as what it holds may."""

    number = signal.SIGTERM

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_is_not_lost_in_a_finalizer(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TroubleError, "number", number)
    texts = iter(("nobody answers",))  # for one turn

    def work() -> int:
        raise TroubleError(next(texts))

    assert until_signal(lambda: repeated(work, PAUSE_S), is_service=True) == OK


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_service_at_work_in_good_order(number: signal.Signals) -> None:
    def work() -> int:
        os.kill(os.getpid(), number)
        raise AssertionError("it went on")

    assert until_signal(lambda: repeated(work, PAUSE_S), is_service=True) == OK


def test_work_that_is_done_once_tells_that_it_was_interrupted() -> None:
    def work() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("it went on")

    with pytest.raises(KeyboardInterrupt):
        until_signal(work)


def test_sigusr1_starts_the_next_turn_and_is_not_lost_during_one() -> None:
    """The first comes while the work goes on, the second in the pause after it."""
    turns: list[int] = []

    def work() -> int:
        turns.append(len(turns))
        if len(turns) == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
        if len(turns) == 2:
            Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        if len(turns) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return OK

    assert until_signal(lambda: repeated(work, LONG_S), is_service=True) == OK
    assert turns == [0, 1, 2]
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_wishes_beyond_what_a_pipe_holds_are_one_wish() -> None:
    turns: list[int] = []

    def work() -> int:
        turns.append(len(turns))
        for _ in range(70_000 if len(turns) == 1 else 0):
            signal.raise_signal(signal.SIGUSR1)
        if len(turns) == 2:
            Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        return OK

    assert until_signal(lambda: repeated(work, LONG_S), is_service=True) == OK
    assert turns == [0, 1]
