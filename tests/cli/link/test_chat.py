"""`rookery chat`: what one says, the other reads."""

import json
from pathlib import Path

import pytest

from rookery.cli.main import main
from tests.cli.conftest import Bob
from tests.cli.program import rookery, running


def test_two_people_talk(tmp_path: Path) -> None:
    """T5: 1:1, with the lines of each in order."""
    with running("chat", "--accept", "all", "--name", "bob") as bob:
        link = bob.line()
        with running("chat", link, "--name", "alice") as alice:
            alice.say("hello\nare you there?\n")
            assert (bob.line(), bob.line()) == ("alice: hello\n", "alice: are you there?\n")
            bob.say("here\n")
            assert alice.line() == "bob: here\n"
            alice.end_input()
            assert alice.wait() == 0
        assert bob.wait() == 0


def test_events_as_json_lines() -> None:
    with running("chat", "--accept", "all", "--json") as bob:
        link = bob.line()
        assert json.loads(link).keys() == {"v", "hashname", "keys", "paths", "uri"}
        assert rookery("chat", link, "--name", "alice", stdin=b"hello\n").code == 0
        joined, said, left = (json.loads(bob.line()) for _ in range(3))
    assert joined.keys() == {"v", "event", "hashname", "name"}
    assert said.keys() == {"v", "event", "hashname", "name", "id", "text"}
    assert [joined["event"], said["event"], left["event"]] == ["joined", "said", "left"]
    assert (said["name"], said["text"]) == ("alice", "hello")


def test_what_would_steer_the_terminal_is_not_printed() -> None:
    with running("chat", "--accept", "all") as bob:
        link = bob.line()
        assert rookery("chat", link, "--name", "alice", stdin=b"\x1b[2Jgone\n").code == 0
        assert bob.line() == "alice: \N{REPLACEMENT CHARACTER}[2Jgone\n"


def test_an_endpoint_that_does_not_chat_denies_it(bob: Bob) -> None:
    outcome = rookery("chat", bob.link, stdin=b"hello\n")
    assert outcome.code == 4
    assert "does not chat" in outcome.complaint()


def test_a_chat_that_no_endpoint_could_join(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat"]) == 2
    assert "--accept all" in capsys.readouterr().err
