"""With `all`: the demo comes up, shows its tour, and ends with Ctrl-C. Its lake has other tests."""

import signal
from pathlib import Path

import psutil
import pytest

from tests.install.environment import TIMEOUT_S, Installer

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]


def test_the_demo_prints_its_tour_and_ends(installer: Installer, tmp_path: Path) -> None:
    everything = installer.environment("all")
    with everything.running("demo", "--days", "0", cwd=tmp_path) as demo:
        told = ""
        while "Ctrl-C ends it" not in told:
            line = demo.line(TIMEOUT_S)
            assert line, (tmp_path / "errors").read_text()
            told += line
        assert "sign in at http://127.0.0.1:" in told
        processes = psutil.Process(demo.pid).children(recursive=True)
        assert processes
        demo.signal(signal.SIGINT)
        assert demo.wait(TIMEOUT_S) == 0
    assert not psutil.wait_procs(processes, timeout=TIMEOUT_S)[1]
    assert "Traceback" not in (tmp_path / "errors").read_text()
