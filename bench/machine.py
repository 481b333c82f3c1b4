"""Where and when figures were measured: without it they mean nothing."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from rookery.wire import crow_packet

ROOT = Path(__file__).parent.parent


def description() -> str:
    """One line: date, commit, cores, processor, Python, kernel, load, and what was compiled."""
    today = datetime.now(UTC).date().isoformat()
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    code = "compiled cores" if _is_compiled() else "interpreted cores"
    processor = f"{os.cpu_count()} cores ({_processor()})"
    load = f"load average {os.getloadavg()[0]:.1f} before it began"
    return f"{today}, commit {_commit()}; {processor}; {python}, {code}; {system}; {load}"


def _is_compiled() -> bool:
    """Whether the modules of hatch_build.py are those that were compiled."""
    return crow_packet.__file__.endswith(tuple(EXTENSION_SUFFIXES))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    if not (head := _git("rev-parse", "--short", "HEAD")):
        return "unknown"
    return f"{head} and uncommitted changes" if _git("status", "--porcelain", "src") else head


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
