"""Fixtures of the interop tests: the public JavaScript implementation, installed once."""

import asyncio
import fcntl
import functools
import hashlib
import inspect
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rookery.identity.identity import Identity
from rookery.runtime.create import create
from rookery.runtime.mesh import Mesh
from rookery.wire.lob import JsonObject
from tests.interop.js_peer import JsPeer, StartJsPeer
from tests.interop.rook import (
    LOOPBACK,
    WIRES,
    Neighbours,
    StartRook,
    Wire,
    js_identity,
    meet,
    new_identity,
)

SOURCE = Path(__file__).parent / "js"
# Git and the linters pass over build/.
CACHE = Path(__file__).parents[2] / "build" / "interop"
INSTALLED = ("package.json", "stub/package.json", "stub/index.js")
INSTALL = (
    *("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"),
    "--loglevel=error",
)
INSTALL_S = 300
TEST_S = 120  # more than any test takes on a loaded machine; what hangs must not hold up the rest


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.obj = _bounded(item.obj)


def _bounded(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def run(**fixtures: object) -> None:
        async with asyncio.timeout(TEST_S):
            await test(**fixtures)

    return run


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
            identity: JsonObject | None = None,
        ) -> JsPeer:
            peer = await JsPeer.start(node_modules)
            peers.push_async_callback(peer.stop)
            identity = identity or js_identity(*csids)
            await peer.create(csids or ("3a",), transports, accept, keepalive_ms, identity)
            return peer

        yield start


@pytest.fixture
async def rook() -> AsyncIterator[StartRook]:
    """Makes endpoints of ours that link with whoever asks, and closes them after the test."""
    async with AsyncExitStack() as meshes:

        async def start(
            *csids: str,
            transports: Sequence[str] = ("udp4",),
            identity: Identity | None = None,
        ) -> Mesh:
            mesh = await meshes.enter_async_context(
                create(
                    identity or new_identity(*(csids or ("3a",))),
                    udp=LOOPBACK if "udp4" in transports else None,
                    tcp=LOOPBACK if "tcp4" in transports else None,
                )
            )
            mesh.on_discover = mesh.link
            return mesh

        yield start


@pytest.fixture
async def neighbours(wire: Wire, js_peer: StartJsPeer, rook: StartRook) -> Neighbours:
    """One of ours and one of theirs, linked over `wire`."""
    mesh, peer = await asyncio.gather(
        rook(wire.csid, transports=[wire.transport]),
        js_peer(wire.csid, transports=[wire.transport]),
    )
    return await meet(mesh, peer, wire.dialler)


@pytest.fixture(params=WIRES, ids=str)
def wire(request: pytest.FixtureRequest) -> Wire:
    """Every cipher set, over each transport, dialled by either side."""
    chosen: Wire = request.param
    return chosen
