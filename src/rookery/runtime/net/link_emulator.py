"""A relay between two ends on this machine that emulates delay, loss and outages.

    one end ──▶ place │ relay │ ──▶ the other end        TCP and UDP at one port, as a node has them
            ◀──       │       │ ◀──

The rules are those of `WeatheredLink`; here is only what carries them out.
"""

import asyncio
from collections.abc import Callable
from typing import Self

from rookery.errors import UsageError
from rookery.sim.network.weather import LinkDirection, WeatheredLink

DELAYED_MAX = 4096  # datagrams in flight; more are lost, as in any queue
SEGMENTS_MAX = 64  # segments of a stream in flight; then its sender has to wait
CONNECTIONS_MAX = 64
PORT_TRIES = 16

EmulatorAddress = tuple[str, int]

_SEGMENT_SIZE = 1 << 16
_LOOK_S = 0.1  # how often to see whether what was cut is mended


class LinkEmulator:
    """One link; made by `open`."""

    def __init__(self, link: WeatheredLink, target: EmulatorAddress) -> None:
        self.link = link
        self.place: EmulatorAddress = ("", 0)  # the address that leads to the target
        self._target = target
        self._datagrams = _EmulatedDatagrams(link, target)
        self._listener: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(
        cls, link: WeatheredLink, target: EmulatorAddress, *, host: str = "127.0.0.1"
    ) -> Self:
        """A relay between peers that connect to its `place`, and the target."""
        relay = cls(link, target)
        for _ in range(PORT_TRIES):
            listener = await asyncio.start_server(relay._connected, host, 0)
            port = int(listener.sockets[0].getsockname()[1])
            try:
                await relay._datagrams.bind(host, port)
            except OSError:  # another program has that port for datagrams
                listener.close()
                continue
            relay._listener, relay.place = listener, (host, port)
            return relay
        raise UsageError(f"no port of {host} is free for both TCP and UDP")

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._datagrams.close()
        await asyncio.sleep(0)  # in which the loop lets go of the sockets

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= CONNECTIONS_MAX:
            writer.close()
            return
        self._connections.add(task)
        try:
            await self._join(reader, writer)
        except asyncio.CancelledError:
            pass  # by `close`; a listener's task that ends as cancelled makes Python 3.11 complain
        finally:
            self._connections.discard(task)
            writer.close()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_writer = None
        try:
            there_reader, there_writer = await asyncio.open_connection(*self._target)
            async with asyncio.TaskGroup() as tasks:
                _carry(tasks, self.link, LinkDirection.THERE, reader, there_writer)
                _carry(tasks, self.link, LinkDirection.BACK, there_reader, writer)
        except* OSError:
            pass  # one end hung up, and so does the other now
        finally:
            if there_writer is not None:
                there_writer.close()


def _carry(
    tasks: asyncio.TaskGroup,
    link: WeatheredLink,
    direction: LinkDirection,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """One direction of a connection, until it ends."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(SEGMENTS_MAX)

    async def read() -> None:
        data = b"-"
        while data:  # the empty piece is the end, and waits its turn like any other
            data = await reader.read(_SEGMENT_SIZE)
            await waiting.put((link.segment(direction, len(data), loop.time()), data))

    async def write() -> None:
        data = b"-"
        while data:
            arrival, data = await waiting.get()
            await asyncio.sleep(arrival - loop.time())
            await _until_open(link)
            if writer.is_closing():  # by its other end, while this was on its way
                raise ConnectionResetError
            if data:
                writer.write(data)
                await writer.drain()
            else:
                writer.write_eof()

    tasks.create_task(read())
    tasks.create_task(write())


async def _until_open(link: WeatheredLink) -> None:
    loop = asyncio.get_running_loop()
    while not link.is_open(loop.time()):
        wait_s = link.opens_in_s(loop.time())
        await asyncio.sleep(_LOOK_S if wait_s is None else wait_s)


class _EmulatedDatagrams:
    """Both directions; replies go to the last sender."""

    def __init__(self, link: WeatheredLink, target: EmulatorAddress) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._front = _EmulatorEnd(lambda data: self._pass(LinkDirection.THERE, data))
        self._back = _EmulatorEnd(lambda data: self._pass(LinkDirection.BACK, data))
        self._back.peer = target
        self._delayed: set[asyncio.TimerHandle] = set()

    async def bind(self, host: str, port: int) -> None:
        await self._front.bind(host, port)
        await self._back.bind(host, 0)

    def close(self) -> None:
        for timer in self._delayed:
            timer.cancel()
        self._delayed.clear()
        self._front.close()
        self._back.close()

    def _pass(self, direction: LinkDirection, data: bytes) -> None:
        now = self._loop.time()
        for arrival in self._link.datagram(direction, len(data), now):
            if len(self._delayed) < DELAYED_MAX:
                self._delay(arrival, direction, data)

    def _delay(self, arrival: float, direction: LinkDirection, data: bytes) -> None:
        def arrive() -> None:
            self._delayed.discard(timer)
            (self._back if direction is LinkDirection.THERE else self._front).send(data)

        timer = self._loop.call_at(arrival, arrive)
        self._delayed.add(timer)


class _EmulatorEnd(asyncio.DatagramProtocol):
    """A socket and its peer."""

    def __init__(self, received: Callable[[bytes], None]) -> None:
        self.peer: EmulatorAddress | None = None
        self._received = received
        self._transport: asyncio.DatagramTransport | None = None

    async def bind(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=(host, port)
        )

    def datagram_received(self, data: bytes, addr: EmulatorAddress) -> None:
        self.peer = addr
        self._received(data)

    def error_received(self, exc: Exception) -> None:
        """Ignore ICMP errors: a real network may not report them either."""

    def send(self, data: bytes) -> None:
        if self._transport is not None and self.peer is not None:
            self._transport.sendto(data, self.peer)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
