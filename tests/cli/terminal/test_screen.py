"""What is printed: versioned JSON, aligned fields, and nothing that steers a terminal."""

import json

import pytest

from rookery.cli.terminal.screen import print_fields, print_json, print_table, printable


def test_json_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "ä\n"})
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {"v": 1, "a": "ä\n"}


def test_fields_are_aligned_and_absent_ones_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields([("a", 1), ("long", "x\x1b[0m"), ("none", None)])
    assert capsys.readouterr().out == "a     1\nlong  x\N{REPLACEMENT CHARACTER}[0m\n"


def test_a_table_outside_a_terminal_keeps_every_cell(capsys: pytest.CaptureFixture[str]) -> None:
    wide = "x" * 150
    print_table(["one", "two"], [(wide, "[bold]y[/bold]")])
    printed = capsys.readouterr().out
    assert wide in printed
    assert "[bold]y[/bold]" in printed


@pytest.mark.parametrize("text", ["\x1b]0;title\x07", "\u202eabc", "a\rb", "\x9b2J"])
def test_control_characters_are_made_visible(text: str) -> None:
    assert printable(text).isprintable()
