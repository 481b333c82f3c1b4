"""A serial line that may be pulled out and plugged in again, here or at another host (M8).

Reads wait until it is back. Bytes in flight when it was pulled out are lost, as on any line; what
is written while it is away waits. If there are other hosts, one that is out of reach counts as
having lost it.
"""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rookery.errors import RookeryError, UnreachableError
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import SerialTarget
from rookery.runtime.proxy.connection import ProxyConnection
from rookery.runtime.proxy.connector import AUTO, STRANDED_S, Connector, Proxy, has_choice
from rookery.runtime.tunnels.member_stream import READ_SIZE

PATIENCE_S = 60.0
RETRY_S_MIN = 0.1
RETRY_S_MAX = 2.0

_NO_META: dict[str, object] = {}


class RoamingSerialStream:
    """`patience_s`: for how long it may be nowhere before that is an error."""

    def __init__(
        self,
        connector: Connector,
        line: SerialTarget,
        proxy: Proxy = AUTO,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.found = 0  # how often; more than once: it has moved, or was unplugged
        self._connector = connector
        self._line = line
        self._proxy = proxy
        self._patience_s = patience_s
        self._connection: ProxyConnection | None = None
        self._is_closed = False
        self._looking = asyncio.Lock()
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    @classmethod
    async def found_now(cls, connector: Connector, line: SerialTarget, proxy: Proxy = AUTO) -> Self:
        """One that is plugged in somewhere to begin with; LocalError when it is not."""
        roaming = cls(connector, line, proxy)
        roaming._connection = await roaming._open()
        roaming.found = 1
        return roaming

    @property
    def meta(self) -> Mapping[str, object]:
        return _NO_META

    @property
    def is_stalled(self) -> bool:
        return self._connection is None or self._connection.is_stalled

    @property
    def peer(self) -> str:
        return self.exit or ""

    @property
    def exit(self) -> str | None:
        """Where it was last found; None for this host."""
        return None if self._connection is None else self._connection.exit

    async def read(self, size: int = READ_SIZE) -> bytes:
        """UnreachableError when it is nowhere for too long."""
        while True:
            connection = await self._present()
            try:
                data = await connection.read(size)
            except RookeryError:
                data = b""
            if data:
                return data
            self._lost(connection)  # a line has no end: its host has gone

    async def write(self, data: bytes) -> None:
        connection = await self._present()
        try:
            await connection.write(data)
        except RookeryError:
            self._lost(connection)

    async def finish(self) -> None:
        """A line has no end of one direction."""

    def abort(self, code: int = ProxyFault.GONE.code) -> None:
        self._is_closed = True
        self._watching.cancel()
        if self._connection is not None:
            self._connection.abort(code)

    async def close(self) -> None:
        self.abort()
        await asyncio.gather(self._watching, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _lost(self, connection: ProxyConnection) -> None:
        connection.abort()
        if self._connection is connection:
            self._connection = None

    async def _watch(self) -> None:
        suspect: ProxyConnection | None = None
        while has_choice(self._proxy):
            await asyncio.sleep(STRANDED_S)
            connection = self._connection
            if connection is None or not connection.is_stalled:
                suspect = None
            elif connection is not suspect:
                suspect = connection
            else:
                assert connection.exit is not None
                self._connector.out_of_reach(self._line, connection.exit)
                self._lost(connection)

    async def _present(self) -> ProxyConnection:
        async with self._looking:
            if self._is_closed:
                raise UnreachableError(f"{self._line} is closed")
            if self._connection is None:
                self._connection = await self._find()
                self.found += 1
            return self._connection

    async def _find(self) -> ProxyConnection:
        retry_s = RETRY_S_MIN
        failure: RookeryError | None = None
        try:
            async with asyncio.timeout(self._patience_s):
                while True:
                    try:
                        return await self._open()
                    except UnreachableError as error:
                        failure = error
                    await asyncio.sleep(retry_s)
                    retry_s = min(retry_s * 2, RETRY_S_MAX)
        except TimeoutError as error:
            raise UnreachableError(f"{self._line} is nowhere to be found") from (failure or error)

    async def _open(self) -> ProxyConnection:
        line = self._line
        return await self._connector.serial_open(
            line.name,
            self._proxy,
            baudrate=line.baudrate,
            bits=line.bits,
            parity=line.parity,
            stop=line.stop,
        )
