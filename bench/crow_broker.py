"""Messages a second that a crow broker passes on to many subscribers, against Mosquitto.

    publisher ──▶ broker ──▶ subscribers      three processes, each subscriber a tower of its own

What was published is counted where it arrives. With crow, QoS 1 holds the publisher back also where
its subscribers want QoS 0; with Mosquitto TCP does, and it publishes with the quality of the row.
"""

import asyncio
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench import mosquitto
from bench.crow import DATA_SIZE, Arrivals
from bench.figure import Effort, Figure, Goal, Missing, Row, middle
from bench.process import answer, child, ordered
from rookery.runtime.crow.broker import CrowBroker
from rookery.runtime.crow.client import Subscription
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower
from rookery.runtime.loop import run

SUBSCRIBERS = 10
THEME = "bench"

_MESSAGES_PER_SECOND = 2000  # published in one run, for each second a rate would be measured
_QUEUE_MAX = 1000  # messages that a broker keeps for a subscriber: more at once would be missed
_WINDOW = 32
_RUNS = 3  # a run is short, and the two cores are not always dealt out in the same way
_SILENCE_S = 3.0  # longer than any repeat takes
_PEER = "Mosquitto with clients in C"
_GOAL = Goal(ratio_min=1.0)


@dataclass(frozen=True, slots=True)
class Job:
    """What the other processes need to know."""

    address: bytes
    qos: int
    messages: int


def measure(effort: Effort) -> list[Row]:
    if (lack := mosquitto.lack()) is not None:
        return [Missing(what=_what(qos), against=_PEER, why=lack, goal=_GOAL) for qos in (0, 1, 2)]
    return [figure(qos, effort) for qos in (0, 1, 2)]


def figure(qos: int, effort: Effort) -> Figure:
    """What arrives at all subscribers together, in turns with what it does at Mosquitto's."""
    messages = min(int(effort.seconds * _MESSAGES_PER_SECOND), _QUEUE_MAX) // _WINDOW * _WINDOW
    work = mosquitto.Work(qos, messages, DATA_SIZE, SUBSCRIBERS)
    arrivals, limits = [], []
    for _ in range(effort.runs * _RUNS):
        arrivals.append(_arrivals(qos, messages))
        limits.append(mosquitto.deliveries_per_s(work))
    share = sum(each.packets for each in arrivals) / (len(arrivals) * messages * SUBSCRIBERS)
    return Figure(
        what=_what(qos),
        value=middle(each.rate for each in arrivals),
        unit="delivered/s",
        limit=middle(limits),
        against=_PEER,
        goal=_GOAL,
        remark=f"{share:.1%} of {messages} messages to each",
    )


def _what(qos: int) -> str:
    return f"crow broker, {DATA_SIZE} B to {SUBSCRIBERS} subscribers, QoS {qos}"


def _arrivals(qos: int, messages: int) -> Arrivals:
    with child(broker, None) as serving:
        job = Job(answer(serving, bytes), qos, messages)
        with child(subscribe, job) as reading, child(publish, job) as publishing:
            assert answer(reading, str) == "subscribed"
            publishing.send(None)
            return answer(reading, Arrivals)


def broker(pipe: Connection, _: None) -> None:
    async def serve() -> None:
        async with CrowTower() as tower, CrowBroker(tower):
            gate = await CrowUdpGate.bind(tower)
            tower.add_gate(gate)
            pipe.send(gate.address)
            await ordered(pipe)

    run(serve())


def publish(pipe: Connection, job: Job) -> None:
    async def send() -> None:
        async with CrowTower() as tower:
            tower.add_gate(await CrowUdpGate.bind(tower))
            client, data = tower.client(job.address), bytes(DATA_SIZE)
            await ordered(pipe)
            for _ in range(0, job.messages, _WINDOW):
                sending = (client.publish(THEME, data, qos=max(job.qos, 1)) for _ in range(_WINDOW))
                await asyncio.gather(*sending)
            await ordered(pipe)

    run(send())


def subscribe(pipe: Connection, job: Job) -> None:
    async def read() -> None:
        async with AsyncExitStack() as stack:
            readers = []
            for _ in range(SUBSCRIBERS):
                tower = await stack.enter_async_context(CrowTower())
                tower.add_gate(await CrowUdpGate.bind(tower))
                wanted = tower.client(job.address).subscribe(THEME, qos=job.qos)
                readers.append(await stack.enter_async_context(wanted))
            pipe.send("subscribed")
            spans = await asyncio.gather(*(_receive(reader, job.messages) for reader in readers))
            seconds = max(span.ended_s for span in spans) - min(span.began_s for span in spans)
            pipe.send(Arrivals(sum(span.messages for span in spans), seconds))

    run(read())


@dataclass(slots=True)
class _Span:
    messages: int = 0
    began_s: float = 0.0
    ended_s: float = 0.0


async def _receive(reader: Subscription, messages: int) -> _Span:
    """All messages, or those that come before it is silent for long."""
    now, span = time.perf_counter, _Span()
    with suppress(TimeoutError):
        async with asyncio.timeout(None) as silence:
            async for _ in reader:
                span.ended_s = now()
                if span.messages % _WINDOW == 0:
                    span.began_s = span.began_s or span.ended_s
                    silence.reschedule(asyncio.get_running_loop().time() + _SILENCE_S)
                span.messages += 1
                if span.messages == messages:
                    break
    return span
