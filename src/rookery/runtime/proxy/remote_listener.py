"""A TCP listener at an exit, for as long as we hold it."""

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Self

from rookery.errors import RookeryError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import TOKEN_SIZE, AcceptedByExit
from rookery.runtime.proxy.connection import leave
from rookery.runtime.tunnels.member_stream import READ_SIZE, MemberStream, Serve


class RemoteListener:
    """Connections that reach `address` over there are served here."""

    def __init__(
        self,
        stream: MemberStream,
        address: SockAddress,
        exit_: str,
        expecting: AbstractContextManager[str],
    ) -> None:
        self.address = address
        self.exit = exit_
        self._stream = stream
        self._expecting: AbstractContextManager[str] | None = expecting

    async def wait_closed(self) -> None:
        """Until the exit stops listening, or is lost."""
        try:
            while await self._stream.read(READ_SIZE):
                pass
        except RookeryError:
            return

    async def close(self) -> None:
        """Listen no more; connections that came live on."""
        if self._expecting is not None:
            self._expecting.__exit__(None, None, None)
            self._expecting = None
            await leave(self._stream)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


EXPECTED_MAX = 256


class ExpectedConnections:
    """Who waits for what."""

    def __init__(self) -> None:
        self._expected: dict[tuple[str, str], Serve] = {}

    @contextmanager
    def expect(self, hashname: str, serve: Serve) -> Iterator[str]:
        """The token for that exit to use; good until the block is left."""
        if len(self._expected) >= EXPECTED_MAX:
            raise ProxyFault.BUSY.error("another listener at an exit")
        token = secrets.token_hex(TOKEN_SIZE // 2)
        self._expected[hashname, token] = serve
        try:
            yield token
        finally:
            del self._expected[hashname, token]

    def server(self, hashname: str, opening: AcceptedByExit) -> Serve:
        """Who waits for this; DeniedError when nobody does."""
        serve = self._expected.get((hashname, opening.token))
        if serve is None:
            raise ProxyFault.POLICY.error("an arrival")
        return serve
