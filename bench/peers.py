"""Peers: programs that do the same work, to be measured beside ours, and how they get here.

Where one cannot be had, MissingPeerError says why, and its row of the table repeats that.
"""

import shutil
import subprocess
import venv
from pathlib import Path

from bench.machine import ROOT

_INSTALL_S = 300.0
_SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class MissingPeerError(Exception):
    """A peer is not here; the words say why."""


def program(name: str) -> Path:
    """One that the system has, or that `.ci/packages bench` has brought."""
    found = shutil.which(name) or shutil.which(name, path=_SEARCHED)
    if found is None:
        raise MissingPeerError(f"no {name} on this machine")
    return Path(found)


def python_with(package: str) -> Path:
    """An interpreter with this package of PyPI, apart from ours: neither moves the other's."""
    home = ROOT / "build" / "peers" / package
    python = home / "bin" / "python"
    if (home / ".ready").exists():
        return python
    try:
        venv.create(home, with_pip=True, clear=True)
        command = [
            str(python),
            "-m",
            "pip",
            "install",
            "-qq",
            "--disable-pip-version-check",
            package,
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_INSTALL_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingPeerError(f"cannot install {package}: {error}") from error
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise MissingPeerError(f"cannot install {package}: {(complaints or ['pip failed'])[-1]}")
    (home / ".ready").touch()
    return python


def version(python: Path, package: str) -> str:
    """Of a package that another interpreter has."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()
