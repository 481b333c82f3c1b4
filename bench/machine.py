"""Where and when figures were measured: without it they mean nothing."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent


def description() -> str:
    """One line: date, commit, cores, processor, Python, kernel, and what else was going on."""
    today = datetime.now(UTC).date().isoformat()
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    processor = f"{os.cpu_count()} cores ({_processor()})"
    load = f"load average {os.getloadavg()[0]:.1f} before it began"
    return f"{today}, commit {_commit()}; {processor}; {python}; {system}; {load}"


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
