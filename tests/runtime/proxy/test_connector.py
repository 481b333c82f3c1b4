"""M8: every connector takes `proxy=`, and what it returns does not show which."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rookery.errors import (
    ChannelError,
    CongestionError,
    DeniedError,
    UnreachableError,
    UsageError,
)
from rookery.link.channels.sock import SockAddress, SockProtocol
from rookery.mesh.proxy.answer import ProxyAnswer
from rookery.mesh.proxy.exit_memory import Exit
from rookery.mesh.proxy.fault import ProxyConnectError, ProxyFault
from rookery.mesh.proxy.opening import Parity
from rookery.mesh.proxy.race import RaceSettings
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.proxy.connection import ProxyConnection
from rookery.runtime.proxy.connector import Connector, Proxy
from rookery.runtime.proxy.remote_listener import EXPECTED_MAX, ExpectedConnections
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.proxy.service import ProxyLimits, ProxyService
from rookery.runtime.tunnels.member_stream import MemberStream, TunnelledStream
from tests.patience import PATIENCE_S
from tests.runtime.message_channel_pair import until
from tests.runtime.proxy.servers import Gadget, closed_port, echo_server, gadget, udp_echo
from tests.runtime.proxy.town import ALICE, BOB, CAROL, DAVE, EVE, Town

LOCAL = ["tcp 127.0.0.1:*", "udp 127.0.0.1:*", "serial *", "bind tcp 127.0.0.1:*"]
PROXIES: list[Proxy] = [None, BOB, [EVE, BOB], "auto"]


async def names(host: str, port: int, protocol: SockProtocol) -> list[str]:
    return {"here.example": ["127.0.0.1"]}.get(host, [])


class World(Town):
    """Alice's connector and the exits she knows of."""

    def __init__(self) -> None:
        super().__init__()
        self.services: dict[str, ProxyService] = {}
        self.costs: dict[str, int] = {}
        self.arrivals = ExpectedConnections()
        self.alice = Connector(
            self.opener(ALICE), self.exits, arrivals=self.arrivals, resolve=names
        )
        own = ProxyService(arrivals=self.arrivals)
        self.serve(ALICE, own.handle)

    def add(
        self,
        hashname: str,
        rules: list[str] = LOCAL,
        cost_us: int = 1000,
        devices: SerialDevices | None = None,
        limits: ProxyLimits | None = None,
    ) -> ProxyService:
        service = ProxyService(
            ProxyRules.parse(rules),
            open_stream=self.opener(hashname),
            devices=devices,
            limits=limits,
            resolve=names,
        )
        self.services[hashname], self.costs[hashname] = service, cost_us
        self.serve(hashname, service.handle)
        return service

    def exits(self) -> list[Exit]:
        return [
            Exit(hashname, service.services(), self.costs[hashname])
            for hashname, service in self.services.items()
        ]

    def asked(self) -> list[str]:
        return [hashname for hashname, _ in self.opened]


async def conversation(connection: ProxyConnection) -> bytes:
    async with connection:
        await connection.write(b"hello")
        await connection.finish()
        heard = b""
        while data := await connection.read():
            heard += data
        return heard


@pytest.mark.parametrize("proxy", PROXIES, ids=["direct", "node", "list", "auto"])
async def test_a_tcp_connection_is_the_same_by_any_proxy(proxy: Proxy) -> None:
    async with World() as world, echo_server() as port:
        world.add(BOB)
        connection = await world.alice.tcp_connect("here.example", port, proxy)
        assert connection.reached == SockAddress("127.0.0.1", port)
        assert connection.exit == (None if proxy is None else BOB)
        assert await conversation(connection) == b"HELLO"
        await world.quiet()


@pytest.mark.parametrize("proxy", PROXIES, ids=["direct", "node", "list", "auto"])
async def test_a_udp_socket_is_the_same_by_any_proxy(proxy: Proxy) -> None:
    async with World() as world, udp_echo() as port:
        world.add(BOB)
        datagrams = await world.alice.udp_connect("here.example", port, proxy)
        assert datagrams.reached == SockAddress("127.0.0.1", port)
        assert datagrams.exit == (None if proxy is None else BOB)
        await datagrams.send(b"ping")
        assert await datagrams.receive() == b"PING"
        with pytest.raises(UsageError):
            await datagrams.send(bytes(1 << 16))
        await datagrams.close()
        await world.quiet()


@pytest.mark.parametrize("proxy", PROXIES, ids=["direct", "node", "list", "auto"])
async def test_a_serial_line_is_the_same_by_any_proxy(proxy: Proxy, tmp_path: Path) -> None:
    with gadget(tmp_path / "meter") as meter:
        async with World() as world:
            devices = SerialDevices(folder=str(tmp_path))
            world.add(BOB, devices=devices)
            alice = Connector(
                world.opener(ALICE), world.exits, devices=devices if proxy is None else None
            )
            line = await alice.serial_open(
                "meter", proxy, baudrate=9600, bits=7, parity=Parity.ODD, stop=2
            )
            await line.write(b"?\r")
            assert await meter.read(2) == b"?\r"
            meter.write(b"42\r")
            assert (await line.read())[:1] == b"4"
            line.abort()
            await world.quiet()


async def test_one_s_own_line_can_be_named_by_its_path(tmp_path: Path) -> None:
    with gadget(tmp_path / "meter") as meter:
        async with await Connector().serial_open(str(tmp_path / "meter")) as line:
            meter.write(b"x")
            assert await line.read() == b"x"
        with pytest.raises(ChannelError):
            await line.write(b"x")


@pytest.mark.parametrize("proxy", PROXIES, ids=["direct", "node", "list", "auto"])
async def test_failures_are_the_same_by_any_proxy(proxy: Proxy) -> None:
    async with World() as world, closed_port() as port:
        world.add(BOB, ["tcp 127.0.0.1:*", "tcp *.example:*"])
        with pytest.raises(ProxyConnectError, match="refused") as refused:
            await world.alice.tcp_connect("127.0.0.1", port, proxy)
        assert refused.value.fault is ProxyFault.REFUSED
        with pytest.raises(ProxyConnectError) as unknown:
            await world.alice.tcp_connect("nowhere.example", port, proxy)
        assert unknown.value.fault is ProxyFault.DNS
        await world.quiet()


async def test_what_the_exit_forbids_is_denied() -> None:
    async with World() as world, echo_server() as port:
        world.add(BOB, [])
        with pytest.raises(DeniedError):
            await world.alice.tcp_connect("127.0.0.1", port, BOB)
        with pytest.raises(UnreachableError, match="no exit"):
            await world.alice.tcp_connect("127.0.0.1", port, "auto")


async def test_a_full_exit_is_congestion() -> None:
    async with World() as world, echo_server() as port:
        world.add(BOB, limits=ProxyLimits(connections_max=0))
        with pytest.raises(CongestionError):
            await world.alice.tcp_connect("127.0.0.1", port, BOB)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda alice: alice.tcp_connect("a b", 80),
        lambda alice: alice.tcp_connect("a", 0),
        lambda alice: alice.udp_connect("a", 70000),
        lambda alice: alice.tcp_connect("a", 80, "no hashname"),
        lambda alice: alice.tcp_connect("a", 80, []),
        lambda alice: alice.serial_open("..", BOB),
        lambda alice: alice.listen(BOB, -1, None),
        lambda alice: alice.listen("bob", 1, None),
        lambda alice: Connector().tcp_connect("a", 80, BOB),
        lambda alice: alice.serial_open("meter", BOB, baudrate=0),
    ],
)
async def test_nonsense_is_a_usage_error(
    attempt: Callable[[Connector], Awaitable[object]],
) -> None:
    async with World() as world:
        with pytest.raises(UsageError):
            await attempt(world.alice)
        assert world.opened == []


async def test_two_dead_exits_of_three_cost_less_than_a_second() -> None:
    """R11, and the next connection knows better."""
    async with World() as world, echo_server() as port:
        for hashname, cost_us in ((BOB, 1), (CAROL, 2), (DAVE, 3)):
            world.add(hashname, cost_us=cost_us)
        world.silent |= {BOB, CAROL}
        async with asyncio.timeout(1):
            connection = await world.alice.tcp_connect("127.0.0.1", port, "auto")
        assert connection.exit == DAVE
        assert world.asked() == [BOB, CAROL, DAVE]
        connection.abort()
        again = await world.alice.tcp_connect("here.example", port, "auto")
        assert world.asked()[3:] == [DAVE]
        again.abort()


async def test_exits_that_forbid_it_or_are_gone_are_passed_over_at_once() -> None:
    """R11"""
    async with World() as world, echo_server() as port:
        world.add(BOB, ["tcp 127.0.0.2:*"], cost_us=1)
        world.add(CAROL, cost_us=2)
        world.add(DAVE, cost_us=3)
        world.leave(CAROL)
        connection = await world.alice.tcp_connect("127.0.0.1", port, "auto")
        assert connection.exit == DAVE
        connection.abort()


async def test_a_lost_race_leaves_nothing_behind() -> None:
    settings = RaceSettings(attempt_s=0.05, whole_s=0.2, stagger_s=0.01)
    async with World() as world:
        for hashname in (BOB, CAROL, DAVE):
            world.add(hashname)
        world.silent |= {BOB, CAROL, DAVE}
        alice = Connector(world.opener(ALICE), world.exits, settings=settings)
        before = asyncio.all_tasks()
        with pytest.raises(ProxyConnectError, match="timeout"):
            await alice.tcp_connect("127.0.0.1", 9, "auto")
        assert asyncio.all_tasks() == before


async def test_a_cancelled_connector_leaves_nothing_behind() -> None:
    async with World() as world:
        world.add(BOB)
        world.silent.add(BOB)
        before = asyncio.all_tasks()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await world.alice.tcp_connect("127.0.0.1", 9, BOB)
        assert asyncio.all_tasks() == before


async def test_the_loser_of_a_race_is_hung_up_on() -> None:
    held = asyncio.Event()

    async def slow(stream: TunnelledStream) -> None:
        await asyncio.sleep(0.1)
        await world.services[BOB].handle(stream)
        held.set()

    settings = RaceSettings(stagger_s=0.01)
    async with World() as world, echo_server() as port:
        world.add(BOB, cost_us=1)
        world.add(CAROL, cost_us=2)
        world.serve(BOB, slow)
        alice = Connector(world.opener(ALICE), world.exits, settings=settings)
        connection = await alice.tcp_connect("127.0.0.1", port, "auto")
        assert connection.exit == CAROL
        async with asyncio.timeout(PATIENCE_S):
            await held.wait()
        assert world.services[BOB].seats.taken == 0
        connection.abort()


async def test_of_two_that_answer_at_the_same_time_one_is_hung_up_on() -> None:
    gate = asyncio.Event()

    async def ready(stream: MemberStream) -> None:
        await gate.wait()
        await stream.write(ProxyAnswer().serialize())

    settings = RaceSettings(stagger_s=0.0)
    async with World() as world:
        for hashname in (BOB, CAROL):
            world.add(hashname)
            world.serve(hashname, ready)
        alice = Connector(world.opener(ALICE), world.exits, settings=settings)
        connecting = asyncio.get_running_loop().create_task(
            alice.tcp_connect("127.0.0.1", 9, [BOB, CAROL])
        )
        await until(lambda: len(world.opened) == 2)
        gate.set()
        connection = await connecting
        streams = dict(world.opened)
        assert connection.exit is not None
        assert streams.pop(connection.exit).aborted is None
        assert [stream.aborted for stream in streams.values()] == [ProxyFault.GONE.code]
        connection.abort()


@pytest.mark.parametrize("answer", [b"\xff\xff", b"\0\2[]", b'\0\x09{"load":', b""])
async def test_an_exit_that_answers_nonsense_counts_as_dead(answer: bytes) -> None:
    async def liar(stream: MemberStream) -> None:
        await stream.write(answer)
        await stream.finish()

    async with World() as world, echo_server() as port:
        world.add(BOB)
        world.serve(EVE, liar)
        connection = await world.alice.tcp_connect("127.0.0.1", port, [EVE, BOB])
        assert connection.exit == BOB
        connection.abort()


# --- a device that moves ---


async def test_a_line_moved_to_another_host_is_found_again(tmp_path: Path) -> None:
    """M8: by name, wherever it is plugged in, and at one's own host too."""
    hosts = {name: tmp_path / name[:4] for name in (BOB, CAROL, ALICE)}
    for folder in hosts.values():
        folder.mkdir()
    async with World() as world:
        for name in (BOB, CAROL):
            world.add(name, devices=SerialDevices(folder=str(hosts[name])))
        devices = SerialDevices(folder=str(hosts[ALICE]))
        alice = Connector(world.opener(ALICE), world.exits, devices=devices)
        for name in (BOB, CAROL, BOB, ALICE, CAROL):
            meter = Gadget(hosts[name] / "meter")
            line = await alice.serial_open("meter", "auto")
            assert line.exit == (None if name == ALICE else name)
            await line.write(b"hi")
            assert await meter.read(2) == b"hi"
            meter.unplug()
            with pytest.raises(ChannelError):
                await line.read()
            await line.close()
        with pytest.raises(UnreachableError):
            await alice.serial_open("meter", "auto")
        await world.quiet()


async def test_a_line_in_use_at_home_is_not_looked_for_abroad(tmp_path: Path) -> None:
    with gadget(tmp_path / "meter"):
        alice = Connector(devices=SerialDevices(folder=str(tmp_path)))
        first = await alice.serial_open("meter", "auto")
        with pytest.raises(ProxyConnectError, match="in use"):
            await alice.serial_open("meter", "auto")
        await first.close()


# --- listeners at an exit ---


async def shout(stream: MemberStream) -> None:
    heard = b""
    while data := await stream.read(1 << 16):
        heard += data
    await stream.write(heard.upper())
    await stream.finish()


async def test_connections_to_a_listener_at_an_exit_come_back() -> None:
    async with World() as world:
        world.add(BOB)
        async with await world.alice.listen(BOB, 0, shout) as listener:
            assert listener.exit == BOB
            reader, writer = await asyncio.open_connection(*address(listener.address))
            writer.write(b"knock knock")
            writer.write_eof()
            assert await reader.read() == b"KNOCK KNOCK"
            writer.close()
            await writer.wait_closed()
        await world.quiet()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*address(listener.address))


def address(bound: SockAddress) -> tuple[str, int]:
    return bound.host, bound.port


async def test_a_listener_that_no_rule_allows_is_denied() -> None:
    async with World() as world:
        world.add(BOB, ["tcp 127.0.0.1:*"])
        with pytest.raises(DeniedError):
            await world.alice.listen(BOB, 0, shout)


async def test_a_taken_port_is_told() -> None:
    async with World() as world, echo_server() as port:
        world.add(BOB)
        with pytest.raises(ProxyConnectError, match="in use"):
            await world.alice.listen(BOB, port, shout)


async def test_a_listener_ends_with_its_exit() -> None:
    async with World() as world:
        world.add(BOB)
        listener = await world.alice.listen(BOB, 0, shout)
        world.opened[-1][1].abort(0)
        async with asyncio.timeout(PATIENCE_S):
            await listener.wait_closed()
        await listener.close()
        await world.quiet()


@pytest.mark.parametrize("who", [BOB, CAROL])
async def test_an_arrival_that_nobody_waits_for_is_denied(who: str) -> None:
    """A token is good for the exit it was given to, and for nobody else."""
    async with World() as world:
        world.add(BOB)
        with world.arrivals.expect(EVE, shout) as token:
            meta = {"type": "accepted", "token": token, "host": "192.0.2.1", "port": 1}
            stream = await world.opener(who)(ALICE, "proxy", meta)
            assert b"policy" in await stream.read(100)
            stream.abort(0)


def test_listeners_at_exits_are_bounded() -> None:
    arrivals = ExpectedConnections()
    held = [arrivals.expect(BOB, shout) for _ in range(EXPECTED_MAX)]
    tokens = {one.__enter__() for one in held}
    assert len(tokens) == EXPECTED_MAX
    with pytest.raises(CongestionError), arrivals.expect(BOB, shout):
        pass
    held[0].__exit__(None, None, None)
    with arrivals.expect(BOB, shout):
        pass
