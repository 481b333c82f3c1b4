"""The passage behind a door at which programs say where they want to go: SOCKS5, HTTP CONNECT."""

from collections.abc import Awaitable, Callable
from functools import partial
from ipaddress import ip_address

import msgspec

from rookery.errors import LocalError, UsageError
from rookery.link.channels.sock import Address
from rookery.mesh.proxy.credentials import Credentials
from rookery.mesh.proxy.fault import Fault, fault_of
from rookery.runtime.proxy.connector import AUTO, Connector, Proxy
from rookery.runtime.proxy.door import CONNECTIONS_MAX, LOOPBACK, Door, say_last
from rookery.runtime.proxy.socket_stream import SocketStream
from rookery.runtime.proxy.splice import IdleLimits, splice


class Passage(msgspec.Struct, frozen=True):
    """What all clients of one door share."""

    connector: Connector
    proxy: Proxy
    credentials: Credentials | None
    idle: IdleLimits | None

    async def connect(
        self,
        stream: SocketStream,
        to: Address,
        granted: bytes,
        refusal: Callable[[Fault], bytes],
        early: bytes,
    ) -> None:
        """Carry a client there, or say no in its words; `early` is what it has sent already."""
        try:
            connection = await self.connector.tcp_connect(to.host, to.port, self.proxy)
        except LocalError as error:
            await say_last(stream, refusal(fault_of(error)))
            raise
        async with connection:
            await stream.write(granted)
            if early:
                await connection.write(early)
            await splice(stream, connection, self.idle)


ServeClient = Callable[[Passage, SocketStream], Awaitable[None]]


async def passage_door(
    serve: ServeClient,
    connector: Connector,
    proxy: Proxy = AUTO,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    credentials: Credentials | None = None,
    connections_max: int = CONNECTIONS_MAX,
    idle: IdleLimits | None = None,
) -> Door:
    """Listen for clients that `serve` understands; beyond this machine only with credentials."""
    _check_guarded(host, credentials)
    passage = Passage(connector, proxy, credentials, idle)
    return await Door.bind(partial(serve, passage), host, port, connections_max)


def _check_guarded(host: str, credentials: Credentials | None) -> None:
    """A door for strangers needs a lock: UsageError for an open one beyond this machine."""
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if credentials is None and not is_local:
        raise UsageError(f"a door on {host} is open to others: it needs a user and a password")
