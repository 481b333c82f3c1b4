"""`rookery ping`: the round-trip time to a member, until a direct path is in use."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import (
    CONTROL_OPTIONS,
    ControlOptions,
    NodeName,
    print_line,
    print_row,
)
from rookery.cli.runner import run_verb
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK, UNREACHABLE
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import remark
from rookery.errors import UsageError
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import TIMEOUT_S_MAX, ControlCommand, ControlRequest
from rookery.runtime.node.members import Reachability
from rookery.runtime.node.snapshot import PingReply

COUNT = 10
INTERVAL_S = 1.0


def ping(
    node: NodeName,
    /,
    *,
    count: Annotated[int, Parameter(name="--count", help="How many pings at most.")] = COUNT,
    until_direct: Annotated[
        bool,
        Parameter(name="--until-direct", help="Stop as soon as an answer came over a direct path."),
    ] = True,
    interval_s: Annotated[
        float, Parameter(name="--interval", help="Seconds from one ping to the next.")
    ] = INTERVAL_S,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if count < 1 or interval_s < 0:
        raise UsageError("give --count 1 or more, and --interval 0 or more seconds")
    request = ControlRequest(
        do=ControlCommand.PING, node=node, timeout_s=min(control_options.timeout_s, TIMEOUT_S_MAX)
    )

    async def work() -> int:
        replies = []
        async with control_options.connected() as control:
            async for reply in _replies(control, request, count, interval_s):
                replies.append(reply)
                _print(reply, output)
                if until_direct and is_direct(reply):
                    break
        if not output.json:
            remark(summary(replies))
        return OK if any(reply.rtt_ms is not None for reply in replies) else UNREACHABLE

    return run_verb(work())


def _print(reply: PingReply, output: Output) -> None:
    if output.json:
        print_row(reply)
    else:
        print_line(described(reply))


async def _replies(
    control: ControlClient, request: ControlRequest, count: int, interval_s: float
) -> AsyncIterator[PingReply]:
    loop = asyncio.get_running_loop()
    for number in range(count):
        began = loop.time()
        yield await control.one(request, PingReply, patience_s=request.timeout_s)
        if number + 1 < count:
            await asyncio.sleep(max(0.0, began + interval_s - loop.time()))


def is_direct(reply: PingReply) -> bool:
    return reply.reach is Reachability.DIRECT and reply.rtt_ms is not None


def described(reply: PingReply) -> str:
    if reply.rtt_ms is None:
        return f"no answer from {reply.to}: {reply.problem}"
    took = units.milliseconds(reply.rtt_ms)
    return f"answer from {reply.to} in {took}, {reply.reach.value} over {reply.over}"


def summary(replies: list[PingReply]) -> str:
    """A line about all pings."""
    rtts = [reply.rtt_ms for reply in replies if reply.rtt_ms is not None]
    text = f"{len(rtts)} of {len(replies)} answered"
    if rtts:
        least, mean, most = min(rtts), sum(rtts) / len(rtts), max(rtts)
        shown = map(units.milliseconds, (least, mean, most))
        text += f"; least, average, most: {', '.join(shown)}"
    if rtts and not any(map(is_direct, replies)):
        text += "; no direct path was found, rookery netcheck may say why"
    return text
