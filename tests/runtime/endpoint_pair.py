"""The same two ends as `channel_pair`, but real: two endpoints linked over loopback UDP."""

import asyncio
import os
from types import TracebackType
from typing import Self

from rookery.identity.identity import Identity
from rookery.link.session.handshake import Stranger
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.runtime.endpoint.link import AsyncLink
from tests.runtime.ends import watchdog


class EndpointPair:
    """Alice's link to Bob, and Bob's endpoint."""

    alice: AsyncLink
    bob: AsyncEndpoint

    def __init__(self) -> None:
        self._failures: list[str] = []

    @property
    def hashnames(self) -> tuple[str, str]:
        return self.alice.endpoint.hashname, self.bob.hashname

    async def __aenter__(self) -> Self:
        self._watchdog = watchdog()
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: self._failures.append(repr(context))
        )
        alice, self.bob = await _endpoint(), await _endpoint()
        self.bob.on_discover = self._accept
        self.alice = await alice.link(self.bob.address).up()
        return self

    def _accept(self, stranger: Stranger) -> None:
        self.bob.link(stranger)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.alice.endpoint.close()
        await self.bob.close()
        self._watchdog.cancel()
        assert not self._failures, "a handler failed"


async def _endpoint() -> AsyncEndpoint:
    endpoint = AsyncEndpoint(Identity.generate([0x3A], os.urandom))
    endpoint.add_gate(await UdpGate.bind(endpoint))
    return endpoint
