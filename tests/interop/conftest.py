"""Fixtures of the interop tests: the public JavaScript implementation, installed once."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.interop.js_peer import JsPeer, StartJsPeer

SOURCE = Path(__file__).parent / "js"
# Git and the linters pass over build/.
CACHE = Path(__file__).parents[2] / "build" / "interop"
INSTALLED = ("package.json", "stub/package.json", "stub/index.js")
INSTALL = (
    *("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"),
    "--loglevel=error",
)
INSTALL_S = 300


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The installed packages; one install per content of package.json and machine."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on PATH")
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
        complaint = f"npm cannot install the JavaScript implementation: {error} {output}"
        if os.environ.get("CI") == "true":
            pytest.fail(complaint, pytrace=False)
        pytest.skip(complaint)
    unfinished.rename(home)


@pytest.fixture
async def js_peer(node_modules: Path) -> AsyncIterator[StartJsPeer]:
    """Starts telehash-js endpoints on loopback and ends them after the test."""
    async with AsyncExitStack() as peers:

        async def start(
            *csids: str,
            transports: Sequence[str] = ("udp4",),
            accept: str = "all",
            keepalive_ms: int | None = None,
        ) -> JsPeer:
            peer = await JsPeer.start(node_modules)
            peers.push_async_callback(peer.stop)
            await peer.create(csids or ("3a",), transports, accept, keepalive_ms)
            return peer

        yield start
