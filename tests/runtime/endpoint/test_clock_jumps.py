"""Copies of a process are noticed by their clocks, before anything of theirs is sealed."""

import asyncio
from collections.abc import Awaitable, Callable

from rookery.identity.cs40_session import NUMBER_BITS
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.gates.memory_gate import MemoryNetwork
from rookery.runtime.endpoint.pump import JUMP_S, ClockJumpDetector
from rookery.sim.loop import run_virtual
from rookery.wire.link.path import NetPath
from tests.runtime.endpoints import endpoints, linked, wall

COUNTER_AT, COUNTER_END = 18, 26  # in a sealed packet
LEAP_MIN = 1 << 32


def virtually(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def main() -> None:
            await test()

        run_virtual(main())

    run.__name__ = test.__name__
    return run


def test_only_a_jump_is_a_break_and_only_once() -> None:
    wall_s = 1000.0
    continuity = ClockJumpDetector(lambda: wall_s, 5.0)
    wall_s += 60
    assert not continuity.is_broken(65.0)
    for second in range(100):  # a clock that runs fast
        wall_s += 1.1
        assert not continuity.is_broken(66.0 + second)
    for step in (2 * JUMP_S, -2 * JUMP_S, 3600.0):
        wall_s += step
        assert continuity.is_broken(165.0)
        assert not continuity.is_broken(165.0)


class Stepped:
    """A wall clock that is set while its endpoint runs."""

    def __init__(self) -> None:
        self.step_s = 0.0

    def __call__(self) -> float:
        return wall() + self.step_s


def overheard(network: MemoryNetwork) -> list[int]:
    """The counters of what is sealed from now on, without their phase."""
    counters: list[int] = []
    carry = network.carry

    def look(source: NetPath, target: NetPath, data: bytes) -> None:
        if data[1] == 0:
            counter = int.from_bytes(data[COUNTER_AT:COUNTER_END], "big")
            counters.append(counter % (1 << NUMBER_BITS))
        carry(source, target, data)

    network.carry = look  # type: ignore[method-assign]
    return counters


@virtually
async def test_nothing_is_sealed_after_a_jump_before_the_leap() -> None:
    """T1: and no stream notices."""
    clock = Stepped()
    async with endpoints(2, clock_on_the_wall=clock) as ((alice, bob), network):
        link = await linked(alice, bob)
        counters = overheard(network)
        bob.on_stream(echo)
        async with link.stream() as stream:
            for step_s in (0.0, 60.0, -1.0):
                clock.step_s += step_s
                counters.clear()
                stream.write(bytes(20_000))
                await stream.drain()
                await stream.readexactly(20_000)
                assert counters
                assert all(counter >= LEAP_MIN for counter in counters) is (step_s != 0.0)
                await asyncio.sleep(10)


@virtually
async def test_what_a_packet_has_answered_at_once_leaps_too() -> None:
    """T1: relays and probes seal while the packet is read."""
    clock = Stepped()
    async with endpoints(2, clock_on_the_wall=clock) as ((alice, bob), network):
        link = await linked(alice, bob)
        await asyncio.sleep(1)
        answered = asyncio.Event()
        bob.core.frame_reader = lambda link, *_: link.send_frame(b"\x02", b"")
        alice.core.frame_reader = lambda *_: answered.set()
        link.core.send_frame(b"\x01", b"")
        alice.stir()
        await asyncio.sleep(0)
        clock.step_s += 60
        counters = overheard(network)
        await answered.wait()
        assert counters
        assert min(counters) >= LEAP_MIN


async def echo(stream: LinkStream) -> None:
    async for chunk in stream:
        stream.write(chunk)
        await stream.drain()
