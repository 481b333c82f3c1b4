"""Where and when figures were measured: without it they mean nothing."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import rookery
from rookery.wire.crow import packet

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results.md"
SOURCES = ROOT / "src" / "rookery"
PACKAGE = Path(str(rookery.__file__)).parent  # the one that is measured


def facts() -> dict[str, str]:
    """What one has to know of figures that are measured now."""
    cores = "compiled" if _is_compiled() else "interpreted"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    return {
        "Date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "Commit": _commit(),
        "Machine": f"{os.cpu_count()} cores ({_processor()}), {system}",
        "Python": f"{python}, {cores} cores of rookery",
        "Load at the start": f"{os.getloadavg()[0]:.1f}",
    }


def description() -> str:
    """The same in one line."""
    return "; ".join(f"{name.lower()}: {fact}" for name, fact in facts().items())


def obstacle(package: Path = PACKAGE, sources: Path = SOURCES) -> str | None:
    """Why figures measured here would not be those of this checkout as it is installed."""
    if package.is_relative_to(sources):
        return "rookery is not installed here, but imported from src"
    for source in sorted(sources.rglob("*.py")):
        name = source.relative_to(sources)
        if not (package / name).exists() or (package / name).read_bytes() != source.read_bytes():
            return f"the rookery that is installed has another {name}"
    return None


def _is_compiled() -> bool:
    """Whether the modules that build_cores names are those that were compiled."""
    return packet.__file__.endswith(tuple(EXTENSION_SUFFIXES))


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
    results = RESULTS.relative_to(ROOT)  # which the bench itself writes
    changes = _git("status", "--porcelain", "--", ".", f":(exclude){results}")
    return f"{head}, with uncommitted changes" if changes else head


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
