"""The gate without sockets."""

import pytest

from rookery.errors import UsageError
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.gates.memory_gate import MemoryNetwork
from rookery.sim.loop import run_virtual
from rookery.sim.network.network import Conditions
from tests.runtime.endpoints import endpoints, linked
from tests.runtime.recorder import Recorder


def test_an_address_belongs_to_one_gate() -> None:
    network = MemoryNetwork()
    network.gate(Recorder(), "10.0.0.1")
    with pytest.raises(UsageError, match="taken"):
        network.gate(Recorder(), "10.0.0.1")


def test_a_stream_survives_loss_reordering_and_duplication() -> None:
    """T3."""

    async def echo(stream: LinkStream) -> None:
        async for chunk in stream:
            stream.write(chunk)
            await stream.drain()

    async def main() -> bytes:
        weather = Conditions(delay_s=0.02, jitter_s=0.03, loss=0.05, duplication=0.05)
        async with endpoints(2, conditions=weather) as ((alice, bob), _):
            bob.on_stream(echo)
            link = await linked(alice, bob)
            async with link.stream() as stream:
                stream.write(payload)
                stream.write_eof()
                return await stream.read()

    payload = bytes(range(256)) * 400
    assert run_virtual(main()) == payload
