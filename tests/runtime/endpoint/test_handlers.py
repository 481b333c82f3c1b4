"""Handlers and the tasks that run them."""

import asyncio

import pytest

from rookery.errors import ChannelError
from rookery.runtime.endpoint.channel import AsyncChannel
from rookery.sim.loop import run_virtual
from tests.runtime.endpoints import endpoints, linked


def test_a_handler_that_crashes_is_reported_here_and_hidden_from_the_peer() -> None:
    async def main() -> None:
        reported: list[BaseException] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))

        async def crash(channel: AsyncChannel) -> None:
            raise ZeroDivisionError("secret detail")

        async with endpoints(2) as ((alice, bob), _):
            bob.serve("crash", crash)
            link = await linked(alice, bob)
            with pytest.raises(ChannelError, match="internal error"):
                await link.open("crash").receive()
        assert [type(error) for error in reported] == [ZeroDivisionError]

    run_virtual(main())


def test_what_a_finished_handler_did_not_read_is_dropped() -> None:
    async def main() -> None:
        async def answer(channel: AsyncChannel) -> None:
            await channel.send({}, b"enough")

        async with endpoints(2) as ((alice, bob), _):
            bob.serve("short", answer)
            channel = (await linked(alice, bob)).open("short")
            for _ in range(100):
                await channel.send({}, b"x" * 1000)
            reply = await channel.receive()
            assert reply is not None
            assert reply.body == b"enough"
            await channel.end()
            await channel.wait_closed()

    run_virtual(main())


def test_a_peer_that_never_ends_is_cut_off() -> None:
    async def main() -> None:
        async def nothing(channel: AsyncChannel) -> None:
            return

        async with endpoints(2) as ((alice, bob), _):
            bob.serve("short", nothing)
            channel = (await linked(alice, bob)).open("short")
            assert await channel.receive() is None
            await asyncio.sleep(60)
            with pytest.raises(ChannelError, match="closed"):
                await channel.send({}, b"still here")

    run_virtual(main())


def test_closing_the_mesh_ends_its_handlers() -> None:
    async def main() -> None:
        cancelled = asyncio.Event()

        async def wait(channel: AsyncChannel) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        async with endpoints(2) as ((alice, bob), _):
            bob.serve("wait", wait)
            (await linked(alice, bob)).open("wait")
            await asyncio.sleep(1)
            await bob.close()
            assert cancelled.is_set()

    run_virtual(main())
