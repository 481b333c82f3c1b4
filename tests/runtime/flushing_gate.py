"""A TCP gate on its own: no endpoint is there to flush it."""

import asyncio

from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.wire.link.path import Path
from rookery.wire.octets import Octets


class FlushingGate(TcpGate):
    """Sends what it was given before the turn of the loop ends, as an endpoint would have it."""

    def send(self, path: Path, data: Octets) -> None:
        super().send(path, data)
        asyncio.get_running_loop().call_soon(self.flush)
