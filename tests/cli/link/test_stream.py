"""`rookery stream`: stdin there, the answer back, each direction ending on its own."""

import os
import signal

import pytest

from rookery.cli.main import main
from tests.cli.conftest import Bob
from tests.cli.program import rookery, running
from tests.patience import PATIENCE_S


def test_there_and_back(bob: Bob) -> None:
    outcome = rookery("stream", bob.link, stdin=b"there and back\n")
    assert (outcome.code, outcome.out, outcome.err) == (0, "there and back\n", "")


def test_a_megabyte_is_byte_exact(bob: Bob) -> None:
    """T5: also when stdin is a pipe that is full."""
    data = os.urandom(500_000).hex().encode()
    assert rookery("stream", bob.link, stdin=data).out.encode() == data


def test_json_counts_what_passed(bob: Bob) -> None:
    value = rookery("stream", bob.link, "--json", stdin=b"12345").json()
    assert value.keys() == {"v", "hashname", "sent", "received"}
    assert (value["sent"], value["received"]) == (5, 5)


def test_what_is_typed_comes_back_at_once(bob: Bob) -> None:
    with running("stream", bob.link) as stream:
        stream.say("one\n")
        assert stream.line() == "one\n"
        stream.say("two\n")
        assert stream.line() == "two\n"
        stream.end_input()
        assert stream.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_a_trace(number: signal.Signals, bob: Bob) -> None:
    with running("stream", bob.link) as stream:
        stream.say("one\n")
        assert stream.line() == "one\n"
        stream.signal(number)
        assert stream.wait(PATIENCE_S) == 128 + number
        assert stream.error_line() == ""


def test_stdin_cannot_be_two_things(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "-"]) == 2
    assert "stdin" in capsys.readouterr().err
