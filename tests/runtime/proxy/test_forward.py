"""M7, M8: fixed forwards both ways, over real sockets."""

import asyncio
from pathlib import Path

import pytest

from rookery.errors import DeniedError, UsageError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.exit_memory import Exit
from rookery.mesh.proxy.fault import ProxyFault
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.runtime.proxy.connector import Connector
from rookery.runtime.proxy.forward import (
    reverse_forward,
    serial_forward,
    tcp_forward,
    udp_forward,
)
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.proxy.splice import IdleLimits
from tests.patience import PATIENCE_S
from tests.runtime.message_channel_pair import until
from tests.runtime.proxy.clients import Client
from tests.runtime.proxy.proxy_world import proxy_world
from tests.runtime.proxy.servers import echo_server, gadget, udp_echo
from tests.runtime.proxy.town import ALICE, BOB, CAROL


async def test_a_local_port_leads_to_a_far_one_for_many_clients() -> None:
    async with proxy_world() as world, echo_server() as port:
        target = SockAddress("here.example", port)
        async with await tcp_forward(world.alice, target) as listener:
            assert listener.address.host == "127.0.0.1"

            async def client(text: bytes) -> bytes:
                async with Client(listener.address) as one:
                    return await one.ask(text)

            texts = [b"a%d " % number * 20_000 for number in range(5)]
            assert await asyncio.gather(*map(client, texts)) == [text.upper() for text in texts]


async def test_a_forward_that_is_denied_resets_its_clients_and_says_why() -> None:
    async with (
        proxy_world([]) as world,
        await tcp_forward(world.alice, SockAddress("127.0.0.1", 9), BOB) as listener,
    ):
        async with Client(listener.address) as client:
            with pytest.raises(ConnectionResetError):
                await client.rest()
        assert isinstance(listener.last_error, DeniedError)


async def test_a_busy_local_port_is_a_usage_error() -> None:
    async with proxy_world() as world, echo_server() as port, udp_echo() as udp_port:
        with pytest.raises(UsageError):
            await tcp_forward(world.alice, SockAddress("a", 1), port=port)
        with pytest.raises(UsageError):
            await udp_forward(world.alice, SockAddress("a", 1), port=udp_port)


async def test_every_local_sender_of_datagrams_gets_its_own_answers() -> None:
    async with proxy_world() as world, udp_echo() as port:
        target = SockAddress("127.0.0.1", port)
        async with await udp_forward(world.alice, target, BOB) as forward:
            here = forward.address
            senders = [await QueuedDatagramSocket.connect(here.host, here.port) for _ in range(3)]
            for number, sender in enumerate(senders):
                sender.send(b"from %d" % number)
            for number, sender in enumerate(senders):
                async with asyncio.timeout(PATIENCE_S):
                    assert (await sender.receive()).data == b"FROM %d" % number
                sender.close()
            assert len(forward.flows) == 3
        await world.town.quiet()


async def test_datagram_flows_are_bounded_and_end_by_themselves() -> None:
    async with proxy_world() as world, udp_echo() as port:
        target = SockAddress("127.0.0.1", port)
        async with await udp_forward(world.alice, target, BOB, flows_max=1, idle_s=0.2) as forward:
            here = forward.address
            first, second = [
                await QueuedDatagramSocket.connect(here.host, here.port) for _ in range(2)
            ]
            first.send(b"one")
            async with asyncio.timeout(PATIENCE_S):
                assert (await first.receive()).data == b"ONE"
                second.send(b"two")
                await until(lambda: forward.flows.dropped == 1)
                await until(lambda: not len(forward.flows))
                second.send(b"three")
                assert (await second.receive()).data == b"THREE"
            first.close()
            second.close()


async def test_datagrams_to_where_nobody_gets_through_are_dropped() -> None:
    async with (
        proxy_world([]) as world,
        await udp_forward(world.alice, SockAddress("127.0.0.1", 9), BOB) as forward,
    ):
        here = forward.address
        sender = await QueuedDatagramSocket.connect(here.host, here.port)
        for _ in range(100):
            sender.send(b"x")
        await until(lambda: forward.flows.dropped > 0)
        assert len(world.town.opened) == 1
        sender.close()


@pytest.mark.parametrize("proxy", ["auto", [BOB, CAROL]])
async def test_datagrams_go_on_by_another_exit_when_theirs_is_out_of_reach(
    proxy: str | list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.runtime.proxy.datagram_flows.STRANDED_S", 0.01)
    async with proxy_world() as world, udp_echo() as port:
        world.town.serve(CAROL, world.bob.handle)
        exits = [Exit(name, world.bob.services(), cost) for cost, name in ((1, BOB), (2, CAROL))]
        alice = Connector(world.town.opener(ALICE), lambda: exits)
        async with await udp_forward(alice, SockAddress("127.0.0.1", port), proxy) as forward:
            here = forward.address
            sender = await QueuedDatagramSocket.connect(here.host, here.port)
            for number in range(3):
                sender.send(b"from %d" % number)
                async with asyncio.timeout(PATIENCE_S):
                    assert (await sender.receive()).data == b"FROM %d" % number
                world.town.opened[0][1].is_stalled = True
            assert [hashname for hashname, _ in world.town.opened] == [BOB, CAROL]
            assert world.town.opened[0][1].aborted == ProxyFault.GONE.code
            sender.close()


async def test_datagrams_wait_for_the_one_exit_that_is_named() -> None:
    """Who talks with an address of its own there would not know it by another."""
    async with (
        proxy_world() as world,
        udp_echo() as port,
        await udp_forward(world.alice, SockAddress("127.0.0.1", port), BOB) as forward,
    ):
        here = forward.address
        sender = await QueuedDatagramSocket.connect(here.host, here.port)
        for number in range(2):
            sender.send(b"from %d" % number)
            async with asyncio.timeout(PATIENCE_S):
                assert (await sender.receive()).data == b"FROM %d" % number
            world.town.opened[0][1].is_stalled = True
        assert len(world.town.opened) == 1
        sender.close()


async def test_a_far_port_leads_to_a_local_one() -> None:
    async with proxy_world() as world, echo_server() as port:
        target = SockAddress("127.0.0.1", port)
        async with await reverse_forward(world.alice, BOB, 0, target) as listener:
            for text in (b"one", b"two" * 50_000):
                async with Client(listener.address) as client:
                    assert await client.ask(text) == text.upper()
        await world.town.quiet()


async def test_a_far_client_is_reset_when_nobody_is_at_home() -> None:
    async with (
        proxy_world() as world,
        await reverse_forward(world.alice, BOB, 0, SockAddress("127.0.0.1", 9)) as listener,
        Client(listener.address) as client,
    ):
        with pytest.raises(ConnectionResetError):
            await client.rest()


async def test_a_serial_line_is_a_port_for_one_client(tmp_path: Path) -> None:
    with gadget(tmp_path / "meter") as meter:
        connector = Connector(devices=SerialDevices(folder=str(tmp_path)))
        async with (
            await serial_forward(connector, "meter") as listener,
            Client(listener.address) as client,
        ):
            client.send(b"?")
            assert await meter.read(1) == b"?"
            meter.write(b"42")
            assert await client.exactly(2) == b"42"
            async with Client(listener.address) as second:
                with pytest.raises(ConnectionResetError):
                    await second.rest()
            meter.unplug()
            with pytest.raises(ConnectionResetError):
                await client.rest()


async def test_a_client_that_hung_up_leaves_the_line_to_the_next(tmp_path: Path) -> None:
    """It may still wait for an answer, but not for long."""
    with gadget(tmp_path / "meter") as meter:
        connector = Connector(devices=SerialDevices(folder=str(tmp_path)))
        idle = IdleLimits(half_closed_s=0.2)
        async with await serial_forward(connector, "meter", idle=idle) as listener:
            for _ in range(2):
                async with Client(listener.address) as client:
                    client.send(b"?")
                    client.writer.write_eof()
                    assert await meter.read(1) == b"?"
                    meter.write(b"42")
                    assert await client.exactly(2) == b"42"
                await until(lambda: listener.connections == 0)
