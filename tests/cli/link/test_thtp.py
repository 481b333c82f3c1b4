"""`rookery thtp`: bodies to stdout, statuses to exit codes."""

import base64
from pathlib import Path

import pytest

from rookery.cli.main import main
from tests.cli.conftest import Bob
from tests.cli.program import rookery


def test_the_body_goes_to_stdout(bob: Bob) -> None:
    outcome = rookery("thtp", "GET", bob.link, "/hello.txt")
    assert (outcome.code, outcome.out, outcome.err) == (0, "hello from bob\n", "")


def test_json_holds_status_headers_and_body(bob: Bob) -> None:
    value = rookery("thtp", "get", bob.link, "/hello.txt", "--json").json()
    assert value.keys() == {"v", "status", "headers", "body"}
    assert (value["status"], value["body"]) == (200, "hello from bob\n")


def test_a_body_that_is_no_text_is_base64(bob: Bob) -> None:
    value = rookery("thtp", "GET", bob.link, "/noise.bin", "--json").json()
    assert base64.b64decode(str(value["body_base64"])) == b"\xff\x00\xfe"


def test_head_prints_the_headers(bob: Bob) -> None:
    outcome = rookery("thtp", "HEAD", bob.link, "/hello.txt")
    assert "content-length: 15" in outcome.out.splitlines()


def test_an_error_status_is_exit_code_1(bob: Bob) -> None:
    outcome = rookery("thtp", "GET", bob.link, "/nothing")
    assert (outcome.code, outcome.out) == (1, "not found\n")
    assert "status 404" in outcome.complaint()


@pytest.mark.parametrize("data", ["text", "@body", "-"])
def test_data_is_sent(data: str, bob: Bob, tmp_path: Path) -> None:
    """Bob's files take no body, and he says so only after reading the request."""
    (tmp_path / "body").write_bytes(b"x" * 100_000)
    arguments = ["thtp", "POST", str(bob.link), "/hello.txt", "--data", data, "--header", "x-a: b"]
    outcome = rookery(*arguments, stdin=b"y" * 100_000, cwd=tmp_path)
    assert outcome.code == 1
    assert "status 405" in outcome.complaint()


@pytest.mark.parametrize("option", [["--header", "nonsense"], ["--data", "@missing"]])
def test_wrong_options_are_refused_before_linking(
    option: list[str], bob: Bob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["thtp", "GET", str(bob.link), "/", *option]) == 2
    assert option[1].removeprefix("@") in capsys.readouterr().err
