"""A serial line that may be pulled out and plugged in again, here or at another host (M8).

Whoever reads waits until it is back. What was under way when it was pulled out is lost, as on any
line; what is written while it is away waits.
"""

import asyncio
from types import TracebackType
from typing import Self

from rookery.errors import RookeryError, UnreachableError
from rookery.mesh.proxy.opening import Serial
from rookery.runtime.proxy.byte_stream import READ_SIZE
from rookery.runtime.proxy.connection import Connection
from rookery.runtime.proxy.connector import AUTO, Connector, Proxy

PATIENCE_S = 60.0
RETRY_S_MIN = 0.1
RETRY_S_MAX = 2.0


class RoamingLine:
    """`patience_s`: for how long it may be nowhere before that is an error."""

    def __init__(
        self,
        connector: Connector,
        line: Serial,
        proxy: Proxy = AUTO,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.found = 0  # how often; more than once: it has moved, or was unplugged
        self._connector = connector
        self._line = line
        self._proxy = proxy
        self._patience_s = patience_s
        self._connection: Connection | None = None
        self._is_closed = False
        self._looking = asyncio.Lock()

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

    async def close(self) -> None:
        self._is_closed = True
        if self._connection is not None:
            self._connection.abort()
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

    def _lost(self, connection: Connection) -> None:
        connection.abort()
        if self._connection is connection:
            self._connection = None

    async def _present(self) -> Connection:
        async with self._looking:
            if self._is_closed:
                raise UnreachableError(f"{self._line} is closed")
            if self._connection is None:
                self._connection = await self._find()
                self.found += 1
            return self._connection

    async def _find(self) -> Connection:
        line, retry_s = self._line, RETRY_S_MIN
        failure: RookeryError | None = None
        try:
            async with asyncio.timeout(self._patience_s):
                while True:
                    try:
                        return await self._connector.serial_open(
                            line.name,
                            self._proxy,
                            baudrate=line.baudrate,
                            bits=line.bits,
                            parity=line.parity,
                            stop=line.stop,
                        )
                    except UnreachableError as error:
                        failure = error
                    await asyncio.sleep(retry_s)
                    retry_s = min(retry_s * 2, RETRY_S_MAX)
        except TimeoutError as error:
            raise UnreachableError(f"{line} is nowhere to be found") from (failure or error)
