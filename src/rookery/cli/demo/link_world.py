"""The endpoints of the demo.

alice ══ link ══ bob        bob accepts whoever comes
   ╚═ router ══╗            the router introduces people and keeps messages
             carol          away at first; nobody but she knows where she is
"""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from rookery.cli.accepting import accept
from rookery.identity.cipher_sets import DEFAULT_CSIDS
from rookery.identity.identity import Identity
from rookery.runtime.create import create
from rookery.runtime.link import Link
from rookery.runtime.mesh import Mesh


@dataclass(slots=True)
class World:
    alice: Mesh
    bob: Mesh
    router: Mesh
    carol_identity: Identity
    carol: Mesh | None
    _stack: AsyncExitStack

    async def carol_comes_online(self) -> Mesh:
        """She knows the router, and nobody else knows where she is."""
        if self.carol is None:
            self.carol = await self._stack.enter_async_context(create(self.carol_identity))
            accept(self.carol, "all", ())
        return self.carol

    async def to_bob(self) -> Link:
        return await self.alice.link(self.bob.address).up()

    async def to_router(self, mesh: Mesh) -> Link:
        return await mesh.link(self.router.address).up()


@asynccontextmanager
async def opened() -> AsyncIterator[World]:
    """All of them but carol, listening on free loopback ports."""
    async with AsyncExitStack() as stack:
        alice, bob, router = [await stack.enter_async_context(create()) for _ in range(3)]
        for mesh in (bob, router):
            accept(mesh, "all", ())
        router.route()
        router.keep_boxes()
        keys = Identity.generate(DEFAULT_CSIDS, os.urandom)
        yield World(alice, bob, router, keys, None, stack)
