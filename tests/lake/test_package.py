"""What is carried to a cluster, and what it does there before Spark is asked (P1)."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from rookery.lake import package, submit
from tests.patience import PATIENCE_S


def test_the_archive_alone_is_rookery_with_its_version(tmp_path: Path) -> None:
    files = package.write(tmp_path / "new" / "folder")
    assert files.program.read_text().startswith('"""Run by spark-submit')
    program = (
        "import sys, importlib.metadata, rookery.lake.submit as submit\n"
        "print(submit.__file__, importlib.metadata.version('rookery'))"
    )
    # The checkout is on the path behind the archive, if at all.
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(files.archive), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout.split() == [f"{files.archive}/rookery/lake/submit.py", version("rookery")]


def test_it_says_how_it_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert package.main([]) == 2
    assert "FOLDER" in capsys.readouterr().err
    assert package.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == str(tmp_path / "rookery.zip")


def test_a_setting_without_a_value_is_refused_before_anything_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert submit.main(["--data", "lake", "--storage", "AWS_REGION"]) == 2
    assert capsys.readouterr().err == "AWS_REGION is no KEY=VALUE\n"
    with pytest.raises(SystemExit):
        submit.main(["--data", "lake", "--backfill", "today", "2026-11-01"])
