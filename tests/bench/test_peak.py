"""Who is watched: what a bench has started, and nobody who was there before."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench.peak import Peak

MAX_GB = 0.1
LARGE = "hoard = b'x' * (200 << 20); print(flush=True); input()"
IN_ANOTHER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LARGE!r}])"


@contextmanager
def running(code: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Returns when it has all its memory; its family ends with its input."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process


def look_twice(peak: Peak) -> None:
    """Those that were not there a moment ago do not count."""
    peak.look()
    peak.look()


def test_who_was_there_before_is_neither_counted_nor_ended() -> None:
    with running(LARGE) as process:
        peak = Peak(MAX_GB)
        look_twice(peak)
        assert peak.gb == 0
        assert process.poll() is None


def test_who_came_later_is_ended_when_it_wants_too_much() -> None:
    peak = Peak(MAX_GB)
    with running(LARGE) as process:
        look_twice(peak)
        assert process.wait(10) == -9
    assert peak.is_too_much


def test_what_they_have_started_counts_as_well() -> None:
    peak = Peak(MAX_GB)
    with running(IN_ANOTHER) as process:
        look_twice(peak)
        assert process.wait(10) == 0  # its child was the larger one
    assert peak.is_too_much
