"""Crow to named hosts through a SOCKS5 proxy (C2)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from rookery.errors import UsageError
from rookery.runtime.crow.gates.connection import CrowStreamLimits
from rookery.runtime.crow.gates.gate import CrowGate
from rookery.runtime.crow.gates.socks_gate import CrowSocksGate, argument
from rookery.wire.crow.address import parse
from tests.runtime.crow.recorder import CrowRecorder, eventually, packet
from tests.runtime.crow.socks_proxy import SocksProxy

ALICE = "alicealicealice2.onion:1789"
BOB = "bobbobbobbobbob7.onion:1789"


def hop(name: str) -> bytes:
    return b"\x0e" + argument(name)


@pytest.fixture
async def proxy() -> AsyncIterator[SocksProxy]:
    async with SocksProxy() as proxy:
        yield proxy


@asynccontextmanager
async def serving(
    proxy: SocksProxy, name: str, believe: tuple[str, ...] = ()
) -> AsyncIterator[tuple[CrowSocksGate, CrowRecorder]]:
    """A gate that the proxy leads to under this name."""
    recorder = CrowRecorder()
    gate = CrowSocksGate(recorder, proxy=proxy.address, name=name, believe=believe)
    proxy.hosts[name.rpartition(":")[0].encode()] = await gate.listen()
    yield gate, recorder
    await gate.close()


@asynccontextmanager
async def nameless(proxy: SocksProxy) -> AsyncIterator[tuple[CrowSocksGate, CrowRecorder]]:
    recorder = CrowRecorder()
    gate = CrowSocksGate(recorder, proxy=proxy.address)
    yield gate, recorder
    await gate.close()


def test_the_argument_is_a_count_a_name_and_a_port() -> None:
    assert argument("chrewekui.onion:1789") == b"\x0fchrewekui.onion\x06\xfd"
    assert hop("chrewekui.onion:1789") == parse(r".14.15@chrewekui\.onion:1789")


@pytest.mark.parametrize(
    "name", ["", "host", "host:", ":9", "host:0", "host:65536", "host:999999", "a b:9", "ü:9"]
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        argument(name)


async def test_a_packet_reaches_the_named_host_and_the_answer_comes_back(
    proxy: SocksProxy,
) -> None:
    """The way back is as long as the hop, though who was dialled does not know by whom."""
    async with serving(proxy, BOB) as (bob, at_bob), nameless(proxy) as (alice, at_alice):
        as_gate: CrowGate = alice
        as_gate.send(packet(hop(BOB), b"question"))
        arrived, return_hop = await at_bob.arrival()
        assert arrived.data == b"question"
        assert len(return_hop) == len(hop(BOB))
        assert proxy.requests == [(b"bobbobbobbobbob7.onion", 1789)]
        bob.send(packet(return_hop[::-1], b"answer"))
        answer, back = await at_alice.arrival()
        assert answer.data == b"answer"
        assert back[::-1] == hop(BOB)
        assert len(proxy.requests) == 1


async def test_two_nameless_diallers_are_told_apart(proxy: SocksProxy) -> None:
    async with (
        serving(proxy, BOB) as (bob, at_bob),
        nameless(proxy) as (one, at_one),
        nameless(proxy) as (two, at_two),
    ):
        one.send(packet(hop(BOB), b"one"))
        two.send(packet(hop(BOB), b"two"))
        await at_bob.arrival(2)
        for arrived, return_hop in at_bob.arrivals:
            bob.send(packet(return_hop[::-1], b"to " + arrived.data))
        await at_one.arrival()
        await at_two.arrival()
        assert (at_one.data, at_two.data) == ([b"to one"], [b"to two"])


async def test_a_believed_name_outlives_the_connection(proxy: SocksProxy) -> None:
    async with (
        serving(proxy, BOB, believe=(ALICE,)) as (bob, at_bob),
        serving(proxy, ALICE) as (alice, at_alice),
    ):
        alice.send(packet(hop(BOB)))
        _, return_hop = await at_bob.arrival()
        assert return_hop[::-1] == hop(ALICE)
        bob.send(packet(hop(ALICE), b"over the same connection"))
        await at_alice.arrival()
        assert len(proxy.requests) == 1
        proxy.cut()

        def is_dialled() -> bool:
            # Until the loss is noticed the old connection swallows what is sent.
            bob.send(packet(hop(ALICE), b"dialled"))
            return b"dialled" in at_alice.data

        await eventually(is_dialled)
        assert proxy.requests[-1] == (b"alicealicealice2.onion", 1789)


async def test_a_name_that_is_only_claimed_is_not_used(proxy: SocksProxy) -> None:
    async with serving(proxy, BOB) as (_, at_bob), serving(proxy, ALICE) as (alice, _):
        alice.send(packet(hop(BOB)))
        _, return_hop = await at_bob.arrival()
        assert return_hop[::-1] != hop(ALICE)


async def test_a_believed_name_of_another_length_is_not_used(proxy: SocksProxy) -> None:
    """Or the way back would not fit over the hop."""
    short = "a.onion:9"
    async with (
        serving(proxy, BOB, believe=(short,)) as (_, at_bob),
        serving(proxy, short) as (alice, _),
    ):
        alice.send(packet(hop(BOB)))
        _, return_hop = await at_bob.arrival()
        assert len(return_hop) == len(hop(BOB))
        assert return_hop[::-1].startswith(b"\x0e\x16~~~~")


async def test_a_return_hop_of_a_closed_connection_leads_nowhere(proxy: SocksProxy) -> None:
    async with serving(proxy, BOB) as (bob, at_bob):
        async with nameless(proxy) as (alice, _):
            alice.send(packet(hop(BOB)))
            _, return_hop = await at_bob.arrival()

        def is_lost() -> bool:
            bob.send(packet(return_hop[::-1]))
            return bob.counters.dropped["unreachable"] > 0

        await eventually(is_lost)


async def test_an_unknown_host_is_counted(proxy: SocksProxy) -> None:
    async with nameless(proxy) as (alice, _):
        alice.send(packet(hop("nobody.onion:9")))
        await eventually(lambda: alice.counters.dropped["unreachable"] == 1)


async def test_a_proxy_that_is_not_there_is_counted() -> None:
    gate = CrowSocksGate(CrowRecorder(), proxy=("127.0.0.1", 9))
    gate.send(packet(hop(BOB)))
    await eventually(lambda: gate.counters.dropped["unreachable"] == 1)
    await gate.close()


@pytest.mark.parametrize(
    "address",
    [
        b"\x0e",
        b"\x0e\x05ab",
        b"\x0e\x03a b\x00\x09",
        b"\x0e\x03abc\x00\x00",
        b"\x0e\x03a\x00c\x00\x09",
    ],
)
async def test_an_address_that_names_no_host_is_dropped(address: bytes) -> None:
    gate = CrowSocksGate(CrowRecorder(), proxy=("127.0.0.1", 9))
    gate.send(packet(address))
    assert gate.counters.dropped == {"unfit": 1}
    await gate.close()


async def test_a_packet_that_claims_another_length_is_dropped(proxy: SocksProxy) -> None:
    """Its way back would be written over bytes that are not of this hop."""
    async with serving(proxy, BOB) as (bob, at_bob), nameless(proxy) as (alice, at_alice):
        alice.send(packet(hop(BOB)))
        _, return_hop = await at_bob.arrival()
        number = return_hop[:2][::-1]
        bob.send(packet(b"\x0e\x02~~" + number))
        await eventually(lambda: alice.counters.dropped["malformed"] == 1)
        assert at_alice.arrivals == []


async def test_silence_and_crowds_are_ended(proxy: SocksProxy) -> None:
    recorder = CrowRecorder()
    limits = CrowStreamLimits(first_packet_s=0.05)
    gate = CrowSocksGate(recorder, proxy=proxy.address, limits=limits)
    proxy.hosts[b"quiet"] = await gate.listen()
    dialler = CrowSocksGate(CrowRecorder(), proxy=proxy.address)
    dialler.send(packet(b"\x0e" + argument("quiet:9")[:-2] + b"\x00\x09", b""))
    await recorder.arrival()
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.hosts[b"quiet"])
    writer.write(b"\x05qu")
    assert await reader.read() == b""
    writer.close()
    assert gate.counters.dropped == {"refused": 1}
    await dialler.close()
    await gate.close()


async def test_a_stranger_is_hung_up_on() -> None:
    gate = CrowSocksGate(CrowRecorder(), allow=["192.0.2.1"])
    port = await gate.listen()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()
    assert gate.counters.dropped == {"denied": 1}
    await gate.close()
