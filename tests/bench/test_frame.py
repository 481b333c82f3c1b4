"""The frame of the bench: parts one after the other, whatever becomes of them."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from bench import __main__ as frame
from bench import machine
from bench.figure import QUICK
from bench.parts import OTHERS, PARTS, Part

SOUND = Part("sound", "Sound", 1.0, module="tests.bench.sound_part")
FAILING = Part("failing", "Failing", 1.0, module="tests.bench.failing_part")


def bench(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", *words]
    return subprocess.run(
        command, cwd=machine.ROOT, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.name))
def test_every_part_can_be_measured(part: Part) -> None:
    assert callable(importlib.import_module(part.path).measure)


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_no_section_can_be_run(name: str) -> None:
    assert callable(importlib.import_module(f"bench.{name}").main)


def test_a_part_that_fails_holds_up_no_other(capfd: pytest.CaptureFixture[str]) -> None:
    failed, sound = frame.run([FAILING, SOUND], QUICK)
    assert failed.failure
    assert not sound.failure
    out = capfd.readouterr().out
    assert "[1/2] failing" in out
    assert "failed: TimeoutError: a child process does not answer" in out
    assert "[2/2] sound" in out
    assert "not measured: no such / program" in out


def test_a_failure_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "PARTS", (FAILING, SOUND))
    monkeypatch.setattr(sys, "argv", ["bench", "--quick"])
    assert frame.main() == 1
    monkeypatch.setattr(frame, "PARTS", (SOUND,))
    assert frame.main() == 0


def test_what_only_shows_that_it_works_is_not_written() -> None:
    before = machine.RESULTS.read_bytes()
    done = bench("--quick", "routes")
    assert done.returncode == 0, done.stderr
    assert "[1/1] routes took" in done.stdout
    assert "not written to a file: a quick run only shows that it works" in done.stdout
    assert machine.RESULTS.read_bytes() == before


def test_only_this_checkout_as_it_is_installed_goes_into_the_page(tmp_path: Path) -> None:
    sources, package = tmp_path / "src", tmp_path / "site-packages"
    for folder in (sources, package):
        folder.mkdir()
        (folder / "one.py").write_text("one = 1\n")
    assert machine.obstacle(package, sources) is None
    assert "imported from src" in str(machine.obstacle(sources, sources))
    (sources / "one.py").write_text("one = 2\n")
    assert "has another one.py" in str(machine.obstacle(package, sources))
    (package / "one.py").unlink()
    assert "has another one.py" in str(machine.obstacle(package, sources))


@pytest.mark.parametrize("module", ["bench", "bench.installed"])
def test_an_unknown_part_is_one_line_that_lists_them(module: str) -> None:
    command = [sys.executable, "-m", module, "tunel"]
    done = subprocess.run(
        command, cwd=machine.ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode != 0
    assert done.stderr.splitlines()[0].startswith("no such part: tunel; there are tunnel, ")
    assert len(done.stderr.splitlines()) == 1
