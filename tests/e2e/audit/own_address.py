"""In a network namespace of its own: a machine with a public address, an exit on it, and a member.

python -m tests.e2e.audit.own_address FOLDER     prints what the member gets, by the exit's rule
"""

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from rookery.errors import RookeryError
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.node.node import mesh_node
from tests.patience import PATIENCE_S
from tests.runtime.node.test_exit_node import greet, has_met
from tests.runtime.realms import Home, realm

OWN = ("203.0.113.7", "2001:db8::7")  # of the machine, as a provider gives them
IP = "/usr/sbin/ip"


async def got(homes: list[Home], rule: str, host: str, port: int) -> str:
    alices, bobs = homes
    async with AsyncExitStack() as stack:
        bob = await stack.enter_async_context(
            mesh_node(bobs.identity, bobs.store, rules=ProxyRules.parse([rule]))
        )
        alice = await stack.enter_async_context(
            mesh_node(alices.identity, alices.store, peers=[bob.endpoint.address])
        )
        async with asyncio.timeout(PATIENCE_S):
            while not (has_met(alice, bob) and has_met(bob, alice)):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            try:
                connection = await alice.proxy.connector.tcp_connect(host, port, bob.hashname)
                return (await connection.read(5)).decode()
            except RookeryError as error:
                return type(error).__name__


def have_addresses() -> None:
    subprocess.run([IP, "link", "set", "lo", "up"], check=True)
    for address, size in zip(OWN, (24, 64), strict=True):
        subprocess.run([IP, "address", "add", f"{address}/{size}", "dev", "lo"], check=True)


async def tried(homes: list[Home], host: str, network: str) -> list[str]:
    async with await asyncio.start_server(greet, host, 0) as server:
        port = server.sockets[0].getsockname()[1]
        return [await got(homes, f"tcp {each}:{port}", host, port) for each in ("*", network)]


async def main() -> None:
    homes = realm(Path(sys.argv[1]), "alice", "bob", exits=["bob"])
    networks = ("203.0.113.0/24", "[2001:db8::]/64")
    print(json.dumps([await tried(homes, *each) for each in zip(OWN, networks, strict=True)]))


if __name__ == "__main__":
    have_addresses()
    asyncio.run(main())
