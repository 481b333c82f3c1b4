"""Fixtures of the interop tests: endpoints of the public JavaScript implementation and of ours."""

import asyncio
import functools
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rookery.identity.identity import Identity
from rookery.runtime.endpoint.create import create
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.wire.link.lob import JsonObject
from tests.interop import js_packages
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
    """The installed packages."""
    try:
        return js_packages.installed()
    except js_packages.NoNodeError as error:
        pytest.skip(str(error))
    except js_packages.InstallError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


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
    async with AsyncExitStack() as endpoints:

        async def start(
            *csids: str,
            transports: Sequence[str] = ("udp4",),
            identity: Identity | None = None,
        ) -> AsyncEndpoint:
            endpoint = await endpoints.enter_async_context(
                create(
                    identity or new_identity(*(csids or ("3a",))),
                    udp=LOOPBACK if "udp4" in transports else None,
                    tcp=LOOPBACK if "tcp4" in transports else None,
                )
            )
            endpoint.on_discover = endpoint.link
            return endpoint

        yield start


@pytest.fixture
async def neighbours(wire: Wire, js_peer: StartJsPeer, rook: StartRook) -> Neighbours:
    """One of ours and one of theirs, linked over `wire`."""
    endpoint, peer = await asyncio.gather(
        rook(wire.csid, transports=[wire.transport]),
        js_peer(wire.csid, transports=[wire.transport]),
    )
    return await meet(endpoint, peer, wire.dialler)


@pytest.fixture(params=WIRES, ids=str)
def wire(request: pytest.FixtureRequest) -> Wire:
    """Every cipher set, over each transport, dialled by either side."""
    chosen: Wire = request.param
    return chosen
