"""The public JavaScript implementation, installed once from npm into build/interop."""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "js"
# Git and the linters pass over build/.
CACHE = Path(__file__).parents[2] / "build" / "interop"
INSTALLED = ("package.json", "stub/package.json", "stub/index.js")
INSTALL = (
    *("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"),
    "--loglevel=error",
)
INSTALL_S = 300


class NoNodeError(Exception):
    """Node or its package manager is not on this machine."""


class InstallError(Exception):
    """npm cannot install it."""


def installed() -> Path:
    """Its `node_modules`; one install per content of package.json and machine."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise NoNodeError(f"{program} is not on PATH")
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in INSTALLED))
    home = CACHE / digest.hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # xdist workers start at the same time
        if not home.exists():
            _install(home)
    return home / "node_modules"


def _install(home: Path) -> None:
    unfinished = home.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for name in INSTALLED:
        target = unfinished / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SOURCE / name, target)
    try:
        subprocess.run(
            INSTALL, cwd=unfinished, check=True, capture_output=True, text=True, timeout=INSTALL_S
        )
    except (subprocess.SubprocessError, OSError) as error:
        output = getattr(error, "stderr", None) or ""
        raise InstallError(
            f"npm cannot install the JavaScript implementation: {error} {output}"
        ) from error
    unfinished.rename(home)
