"""The line that says how far a copy got."""

import json

import pytest

from rookery.cli.terminal.progress import Progress, progress_line


def test_a_line_says_how_much_how_fast_and_how_long() -> None:
    line = progress_line(25_000_000, 100_000_000, 5e6, 15.0)
    assert line == "[######                  ]  25%  25 MB of 100 MB  5 MB/s  15 s left"


def test_what_is_not_known_is_left_out() -> None:
    assert progress_line(0, 100, None, None) == f"[{' ' * 24}]   0%  0 B of 100 B"
    assert progress_line(0, 0, None, None).startswith(f"[{'#' * 24}] 100%")


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(is_json=False)
    progress(0, 10)
    progress(10, 10)
    progress.end()
    assert capsys.readouterr() == ("", "")


def test_programs_read_json(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(is_json=True)
    progress(5, 10)
    progress(10, 10)
    progress.end()
    first, *_, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["is"], first["bytes"], first["size"], first["rate_bytes_s"]) == (
        "progress",
        5,
        10,
        None,
    )
    assert (last["bytes"], last["left_s"]) == (10, 0.0)
