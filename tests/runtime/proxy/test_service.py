"""M7, M9: connections that an exit makes for others, over real sockets."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rookery.errors import ChannelError, RookeryError
from rookery.link.channels.sock import SockAddress, SockProtocol
from rookery.mesh.proxy.answer import ProxyAnswer
from rookery.mesh.proxy.datagram_frame import frame_datagram
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.proxy.answers import ask
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.proxy.service import ProxyLimits, ProxyService
from rookery.runtime.proxy.splice import IdleLimits
from rookery.runtime.tunnels.member_stream import MemberStream, read_exactly
from tests.patience import PATIENCE_S
from tests.runtime.proxy.servers import closed_port, echo_server, gadget, udp_echo
from tests.runtime.proxy.town import ALICE, BOB, WINDOW, Town, pair

LOCAL = ["tcp 127.0.0.0/8:*", "udp 127.0.0.0/8:*", "serial *", "bind tcp 127.0.0.1:*"]


async def names(host: str, port: int, protocol: SockProtocol) -> list[str]:
    """A resolver that needs no network."""
    return {
        "here.example": ["127.0.0.1"],
        "private.example": ["10.0.0.1"],
        "meta.example": ["169.254.169.254"],
        "mixed.example": ["10.0.0.1", "::1", "127.0.0.1"],
    }.get(host, [])


class Exit:
    """Bob, as Alice sees him."""

    def __init__(self, town: Town, service: ProxyService) -> None:
        self.town = town
        self.service = service

    async def ask(self, meta: dict[str, object]) -> tuple[MemberStream, ProxyAnswer]:
        async with asyncio.timeout(PATIENCE_S):
            return await ask(self.town.opener(ALICE), BOB, meta)

    async def tcp(self, port: int, host: str = "127.0.0.1") -> tuple[MemberStream, ProxyAnswer]:
        return await self.ask({"type": "tcp", "host": host, "port": port})

    async def fault(self, meta: dict[str, object]) -> ProxyFault | None:
        stream, answer = await self.ask(meta)
        stream.abort(0)
        return answer.fault


@asynccontextmanager
async def exit_with(
    rules: list[str] = LOCAL,
    limits: ProxyLimits | None = None,
    devices: SerialDevices | None = None,
) -> AsyncIterator[Exit]:
    async with Town() as town:
        service = ProxyService(
            ProxyRules.parse(rules),
            open_stream=town.opener(BOB),
            devices=devices,
            limits=limits,
            resolve=names,
        )
        town.serve(BOB, service.handle)
        yield Exit(town, service)
        assert service.seats.taken == 0 or town.tasks


async def read_all(stream: MemberStream) -> bytes:
    parts = []
    async with asyncio.timeout(PATIENCE_S):
        while data := await stream.read(1 << 16):
            parts.append(data)
    return b"".join(parts)


async def test_a_connection_is_half_closed_like_any_other() -> None:
    async with exit_with() as bob, echo_server() as port:
        stream, answer = await bob.tcp(port)
        assert answer == ProxyAnswer(None, SockAddress("127.0.0.1", port), answer.load)
        await stream.write(b"hello " * 50_000)
        await stream.finish()
        assert await read_all(stream) == b"HELLO " * 50_000
        await bob.town.quiet()
        assert bob.service.seats.taken == 0


async def test_the_other_end_may_stop_writing_first() -> None:
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")
        writer.write_eof()
        heard.set_result(await reader.read())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with exit_with() as bob, server:
        stream, _ = await bob.tcp(server.sockets[0].getsockname()[1])
        assert await read_all(stream) == b"bye"
        await stream.write(b"still here")
        await stream.finish()
        assert await asyncio.wait_for(heard, PATIENCE_S) == b"still here"
        await bob.town.quiet()


async def test_data_sent_before_the_answer_is_kept() -> None:
    async with exit_with() as bob, echo_server() as port:
        meta = {"type": "tcp", "host": "127.0.0.1", "port": port}
        stream = await bob.town.opener(ALICE)(BOB, "proxy", meta)
        await stream.write(b"early bird")
        await stream.finish()
        size = int.from_bytes(await read_exactly(stream, 2), "big")
        assert ProxyAnswer.parse(await read_exactly(stream, size)).fault is None
        assert await read_all(stream) == b"EARLY BIRD"


async def test_a_slow_reader_slows_the_server_down_and_nobody_hoards() -> None:
    """Back-pressure from end to end: what is under way is bounded, not what is sent."""
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        try:
            while sent < 64 << 20:
                writer.write(bytes(1 << 16))
                await writer.drain()
                sent += 1 << 16
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with exit_with() as bob, server:
        stream, _ = await bob.tcp(server.sockets[0].getsockname()[1])
        before = -1
        while sent != before:  # until nobody can write any more
            before = sent
            await asyncio.sleep(0.1)
        assert 0 < sent < 32 << 20  # the system's socket buffers are the largest part
        near = bob.town.opened[-1][1]
        assert len(near.inbox) <= WINDOW
        assert await read_exactly(stream, 1 << 20) == bytes(1 << 20)
        stream.abort(ProxyFault.GONE.code)
        await bob.town.quiet()


async def test_a_broken_stream_breaks_the_connection_off() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            assert await reader.read() == b"", "an orderly end"
        except ConnectionResetError:
            gone.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with exit_with() as bob, server:
        stream, _ = await bob.tcp(server.sockets[0].getsockname()[1])
        stream.abort(1)
        async with asyncio.timeout(PATIENCE_S):
            await gone.wait()


async def test_a_broken_connection_breaks_the_stream_off_as_gone() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with exit_with() as bob, server:
        stream, _ = await bob.tcp(server.sockets[0].getsockname()[1])
        await stream.write(b"xy")
        with pytest.raises(ChannelError):
            await stream.read(1)
        assert bob.town.opened[-1][1].aborted == ProxyFault.GONE.code


# --- default deny ---


async def test_without_rules_nothing_is_connected_and_nothing_told() -> None:
    async with exit_with([]) as bob, echo_server() as port, closed_port() as closed:
        for host in ("127.0.0.1", "here.example", "nowhere.example", "192.0.2.1"):
            for kind in ("tcp", "udp"):
                for number in (port, closed):
                    meta: dict[str, object] = {"type": kind, "host": host, "port": number}
                    assert await bob.fault(meta) is ProxyFault.POLICY
        assert await bob.fault({"type": "serial", "name": "meter"}) is ProxyFault.POLICY
        listen: dict[str, object] = {"type": "listen", "port": 0, "token": "0" * 32}
        assert await bob.fault(listen) is ProxyFault.POLICY
        assert set(bob.service.refused) == {ProxyFault.POLICY}
        assert bob.service.services() == ()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.8.9.1",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "localhost",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "0.0.0.0",
        "::",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1",
        "fe80::1%lo",
        "fc00::1",
        "fec0::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "198.18.0.1",
    ],
)
async def test_what_is_not_public_needs_a_rule_of_its_own(host: str) -> None:
    """Not even a rule for everything opens the way into the exit's own network."""
    service = ProxyService(ProxyRules.parse(["tcp *:*", "udp *:*", "tcp 0.0.0.0/0:*"]))
    async with Town() as town:
        town.serve(BOB, service.handle)
        for kind in ("tcp", "udp"):
            meta = {"type": kind, "host": host, "port": 9}
            _, answer = await ask(town.opener(ALICE), BOB, meta)
            assert answer.fault is ProxyFault.POLICY


async def test_a_name_is_judged_by_the_address_it_resolves_to() -> None:
    async with exit_with(["tcp *.example:*"]) as bob:
        for host in ("here.example", "private.example", "meta.example", "mixed.example"):
            assert await bob.fault({"type": "tcp", "host": host, "port": 80}) is ProxyFault.POLICY
        assert await bob.fault({"type": "tcp", "host": "no.example", "port": 80}) is ProxyFault.DNS
        assert await bob.fault({"type": "tcp", "host": "no.test", "port": 80}) is ProxyFault.POLICY


async def test_a_name_that_changes_its_mind_is_asked_only_once() -> None:
    """Rebinding: the address that was checked is the one that is dialled."""
    asked = 0

    async def rebinding(host: str, port: int, protocol: SockProtocol) -> list[str]:
        nonlocal asked
        asked += 1
        return ["127.0.0.2"] if asked == 1 else ["127.0.0.1"]

    async with Town() as town, echo_server() as port:
        service = ProxyService(ProxyRules.parse(["tcp 127.0.0.2:*"]), resolve=rebinding)
        town.serve(BOB, service.handle)
        meta = {"type": "tcp", "host": "flips.example", "port": port}
        _, first = await ask(town.opener(ALICE), BOB, meta)
        _, second = await ask(town.opener(ALICE), BOB, meta)
        assert first.fault is ProxyFault.REFUSED  # by 127.0.0.2, where nobody listens
        assert second.fault is ProxyFault.POLICY
        assert asked == 2


async def test_of_many_addresses_only_the_allowed_ones_are_dialled() -> None:
    async with exit_with(["tcp 127.0.0.1:*"]) as bob, echo_server() as port:
        stream, answer = await bob.tcp(port, "mixed.example")
        assert answer.reached == SockAddress("127.0.0.1", port)
        stream.abort(0)


async def test_a_name_is_not_even_resolved_for_a_port_that_no_rule_has() -> None:
    async def never(host: str, port: int, protocol: SockProtocol) -> list[str]:
        raise AssertionError("resolved for a stranger")

    async with Town() as town:
        service = ProxyService(
            ProxyRules.parse(["tcp *:443", f"tcp *:80 from {BOB}"]), resolve=never
        )
        town.serve(BOB, service.handle)
        for port in (22, 80):
            meta = {"type": "tcp", "host": "x.example", "port": port}
            _, answer = await ask(town.opener(ALICE), BOB, meta)
            assert answer.fault is ProxyFault.POLICY


async def test_a_rule_for_one_member_is_for_that_member_only() -> None:
    """The far end of the stream counts, whoever carries it."""
    async with exit_with([f"tcp 127.0.0.1:* from {ALICE}"]) as bob, echo_server() as port:
        meta: dict[str, object] = {"type": "tcp", "host": "127.0.0.1", "port": port}
        assert await bob.fault(meta) is None
        _, answer = await ask(bob.town.opener(BOB), BOB, meta)
        assert answer.fault is ProxyFault.POLICY


async def test_failures_are_told_apart() -> None:
    async with exit_with() as bob, closed_port() as closed:
        meta: dict[str, object] = {"type": "tcp", "host": "127.0.0.1", "port": closed}
        assert await bob.fault(meta) is ProxyFault.REFUSED
        assert await bob.fault({"type": "telex"}) is ProxyFault.INVALID
        assert await bob.fault({"type": "serial", "name": "meter"}) is ProxyFault.GONE


async def test_a_host_that_says_nothing_is_a_timeout() -> None:
    async def sleepy(host: str, port: int, protocol: SockProtocol) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with Town() as town:
        limits = ProxyLimits(dial_s=0.05)
        service = ProxyService(ProxyRules.parse(["tcp *:*"]), limits=limits, resolve=sleepy)
        town.serve(BOB, service.handle)
        meta = {"type": "tcp", "host": "slow.example", "port": 80}
        _, answer = await ask(town.opener(ALICE), BOB, meta)
        assert answer.fault is ProxyFault.DNS


# --- bounds ---


@pytest.mark.slow
async def test_a_thousand_idle_connections_are_held_and_the_next_one_refused() -> None:
    """M7: each has a seat; who wants more than there are hears `busy`, and the seats come back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("this system lets no process have so many sockets")
    if soft < 4096:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    limits = ProxyLimits(member_connections_max=1000, connections_max=2000)
    async with exit_with(limits=limits) as bob, echo_server() as port:
        held = [await bob.tcp(port) for _ in range(1000)]
        assert all(answer.fault is None for _, answer in held)
        assert held[-1][1].load == 127
        assert (await bob.tcp(port))[1].fault is ProxyFault.BUSY
        tasks = len(asyncio.all_tasks())
        assert tasks < 1000 * 4
        for stream, _ in held:
            stream.abort(0)
        await bob.town.quiet()
        assert bob.service.seats.taken == 0


async def test_all_members_together_have_a_bound_too() -> None:
    async with exit_with(limits=ProxyLimits(connections_max=1)) as bob, echo_server() as port:
        await bob.tcp(port)
        meta: dict[str, object] = {"type": "tcp", "host": "127.0.0.1", "port": port}
        _, answer = await ask(bob.town.opener(BOB), BOB, meta)
        assert answer.fault is ProxyFault.BUSY
        assert answer.load == 255


@pytest.mark.parametrize("kind", ["tcp", "udp"])
async def test_a_member_without_room_for_the_answer_loses_its_seat(kind: str) -> None:
    service = ProxyService(ProxyRules.parse(LOCAL), limits=ProxyLimits(dial_s=0.1))
    async with echo_server() as port:
        near, far = pair(ALICE, BOB, {"type": kind, "host": "127.0.0.1", "port": port})
        near.inbox += bytes(WINDOW)
        async with asyncio.timeout(PATIENCE_S):
            await service.handle(far)
        assert near.aborted == ProxyFault.TIMEOUT.code
        assert service.seats.taken == 0


async def test_refusals_themselves_are_bounded() -> None:
    async with exit_with([], ProxyLimits(refusals_max=2)) as bob:
        opener = bob.town.opener(ALICE)
        held = [await opener(BOB, "proxy", {"type": "telex"}) for _ in range(5)]
        for stream in held[:2]:
            assert await stream.read(1)
        for stream in held[2:]:
            with pytest.raises(RookeryError):
                await stream.read(1)
        for stream in held:
            stream.abort(0)
        await bob.town.quiet()


async def test_a_connection_on_which_nothing_moves_is_ended() -> None:
    limits = ProxyLimits(idle=IdleLimits(open_s=0.1))
    async with exit_with(limits=limits) as bob, echo_server() as port:
        stream, _ = await bob.tcp(port)
        with pytest.raises(RookeryError):
            await stream.read(1)
        assert bob.town.opened[-1][1].aborted == ProxyFault.TIMEOUT.code


async def test_a_half_closed_connection_has_less_patience() -> None:
    limits = ProxyLimits(idle=IdleLimits(half_closed_s=0.1))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        try:
            await reader.read()
            await asyncio.sleep(3)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with exit_with(limits=limits) as bob, server:
        stream, _ = await bob.tcp(server.sockets[0].getsockname()[1])
        await stream.finish()
        with pytest.raises(RookeryError):
            await stream.read(1)


# --- datagrams ---


async def test_datagrams_keep_their_borders_both_ways() -> None:
    async with exit_with() as bob, udp_echo() as port:
        stream, answer = await bob.ask({"type": "udp", "host": "here.example", "port": port})
        assert answer.reached == SockAddress("127.0.0.1", port)
        for text in (b"one", b"two" * 100, b"three" * 1000):
            await stream.write(frame_datagram(text))
            assert await read_exactly(stream, 2 + len(text)) == frame_datagram(text.upper())
        await stream.finish()
        assert await read_all(stream) == b""
        await bob.town.quiet()


async def test_silent_datagram_sockets_are_closed() -> None:
    limits = ProxyLimits(idle=IdleLimits(udp_s=0.1))
    async with exit_with(limits=limits) as bob, udp_echo() as port:
        stream, _ = await bob.ask({"type": "udp", "host": "127.0.0.1", "port": port})
        with pytest.raises(RookeryError):
            await stream.read(1)


async def test_a_stream_that_breaks_takes_its_datagram_socket_along() -> None:
    async with exit_with() as bob, udp_echo() as port:
        stream, _ = await bob.ask({"type": "udp", "host": "127.0.0.1", "port": port})
        stream.abort(0)
        await bob.town.quiet()
        assert bob.service.seats.taken == 0


# --- serial lines ---


async def test_a_serial_line_is_carried_both_ways(tmp_path: Path) -> None:
    devices = SerialDevices({"meter": str(tmp_path / "meter")})
    with gadget(tmp_path / "meter") as meter:
        async with exit_with(devices=devices) as bob:
            stream, answer = await bob.ask({"type": "serial", "name": "meter"})
            assert answer == ProxyAnswer(None, None, answer.load)
            await stream.write(b"\0read\xff\r")
            assert await meter.read(7) == b"\0read\xff\r"
            meter.write(b"42\r\n")
            assert await read_exactly(stream, 4) == b"42\r\n"
            assert await bob.fault({"type": "serial", "name": "meter"}) is ProxyFault.IN_USE
            stream.abort(0)
            await bob.town.quiet()
            assert await bob.fault({"type": "serial", "name": "meter"}) is None


async def test_an_unplugged_line_is_gone(tmp_path: Path) -> None:
    devices = SerialDevices(folder=str(tmp_path))
    with gadget(tmp_path / "meter") as meter:
        async with exit_with(devices=devices) as bob:
            assert bob.service.services() == ("exit", "serial:meter")
            stream, _ = await bob.ask({"type": "serial", "name": "meter"})
            meter.unplug()
            with pytest.raises(ChannelError):
                await stream.read(1)
            assert bob.town.opened[-1][1].aborted == ProxyFault.GONE.code
            assert bob.service.services() == ("exit",)


async def test_an_odd_speed_is_invalid(tmp_path: Path) -> None:
    with gadget(tmp_path / "meter"):
        async with exit_with(devices=SerialDevices(folder=str(tmp_path))) as bob:
            meta: dict[str, object] = {
                "type": "serial",
                "name": "meter",
                "options": {"baudrate": 12345},
            }
            assert await bob.fault(meta) is ProxyFault.INVALID
            meta["options"] = {"baudrate": 9600, "bits": 7, "parity": "even", "stop": 2}
            assert await bob.fault(meta) is None
