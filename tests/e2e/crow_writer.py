"""A process that publishes numbers in one go: `crow_writer BROKER THEME QOS MESSAGES`.

Prints how many of them reached the broker.
"""

import asyncio
import sys

from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower
from rookery.runtime.loop import run

ACKQUANT_MS = 600  # a hundred subscribers on a busy machine let an answer wait


async def main(broker: str, theme: str, qos: int, messages: int) -> None:
    async with CrowTower() as tower:
        tower.add_gate(await CrowUdpGate.bind(tower))
        client = tower.client(broker)
        outcomes = await asyncio.gather(
            *(
                client.publish(theme, b"%d" % number, qos=qos, ackquant_ms=ACKQUANT_MS)
                for number in range(messages)
            )
        )
        print(sum(outcome.is_delivered for outcome in outcomes), flush=True)


if __name__ == "__main__":
    run(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
