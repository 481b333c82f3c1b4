"""Meshes on a memory network and a virtual loop: whole programs in no time at all."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from rookery.identity.identity import Identity
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.memory_gate import MemoryNetwork
from rookery.runtime.endpoint.link import AsyncLink
from rookery.sim.endpoint import EPOCH_UNIX_S
from rookery.sim.network.network import Conditions


def wall() -> float:
    """What the clock on the wall of a virtual loop says."""
    return EPOCH_UNIX_S + asyncio.get_running_loop().time()


@asynccontextmanager
async def endpoints(
    count: int,
    *,
    seed: int = 1,
    conditions: Conditions | None = None,
    csids: Iterable[int] = (0x40,),
    clock_on_the_wall: Callable[[], float] = wall,
) -> AsyncIterator[tuple[list[AsyncEndpoint], MemoryNetwork]]:
    """Some endpoints at 10.0.0.1, 10.0.0.2, …; none of them accepts strangers yet."""
    network = MemoryNetwork(seed, conditions)
    source = random.Random(seed)
    async with AsyncExitStack() as stack:
        made = []
        for number in range(1, count + 1):
            identity = Identity.generate(csids, source.randbytes)
            endpoint = AsyncEndpoint(
                identity, clock=asyncio.get_running_loop().time, wall=clock_on_the_wall
            )
            endpoint.add_gate(network.gate(endpoint, f"10.0.0.{number}"))
            made.append(await stack.enter_async_context(endpoint))
        yield made, network


async def linked(dialler: AsyncEndpoint, other: AsyncEndpoint) -> AsyncLink:
    """A link that is up, after `other` has decided to accept whoever asks."""
    other.on_discover = other.link
    return await dialler.link(other.address).up()
