"""Many subscribers in one process, each a tower: `crow_readers BROKER THEME COUNT QOS MESSAGES`.

Prints a line once all have subscribed, and a second one when each has got that many different
messages: how many there were too many of, in all.
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from rookery.runtime.crow.client import Subscription
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower
from rookery.runtime.loop import run
from tests.e2e.crow_writer import ACKQUANT_MS


async def main(broker: str, theme: str, count: int, qos: int, messages: int) -> None:
    async with AsyncExitStack() as stack:
        readers = []
        for _ in range(count):
            tower = await stack.enter_async_context(CrowTower())
            tower.add_gate(await CrowUdpGate.bind(tower))
            client = tower.client(broker)
            subscription = client.subscribe(theme, qos=qos, ackquant_ms=ACKQUANT_MS)
            readers.append(await stack.enter_async_context(subscription))
        print("subscribed", flush=True)
        copies = await asyncio.gather(*(_read(reader, messages) for reader in readers))
        print(sum(copies), flush=True)


async def _read(reader: Subscription, messages: int) -> int:
    seen: set[bytes] = set()
    count = 0
    while len(seen) < messages:
        seen.add((await reader.receive()).data)
        count += 1
    assert not reader.missed
    return count - messages


if __name__ == "__main__":
    run(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
