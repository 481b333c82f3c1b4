"""Joins two byte streams: what is read from one is written to the other, in both directions.

Neither side is read faster than the other can write; each direction ends on its own, and an error
of one side aborts the other. Streams that are idle for too long are aborted.
"""

import asyncio

import msgspec

from rookery.errors import RookeryError
from rookery.mesh.proxy.fault import ProxyFault
from rookery.runtime.proxy.connection import ProxyConnection
from rookery.runtime.proxy.direct_copy import DirectCopy
from rookery.runtime.proxy.idle_timeout import IdleTimeout
from rookery.runtime.tunnels.member_stream import READ_SIZE, MemberStream, NonblockingStream


class IdleLimits(msgspec.Struct, frozen=True):
    """How long nothing may move: TCP's keepalive sees to those that have vanished."""

    open_s: float = 7200.0
    half_closed_s: float = 300.0
    udp_s: float = 120.0


async def splice(one: MemberStream, other: MemberStream, limits: IdleLimits | None = None) -> None:
    """Until both directions are done with; raises nothing of theirs."""
    limits = limits or IdleLimits()
    fault = ProxyFault.GONE
    is_done = False
    try:
        async with asyncio.timeout(limits.open_s) as timeout, asyncio.TaskGroup() as pumps:
            idle = IdleTimeout(timeout, limits.open_s)
            pumps.create_task(_pump(one, other, idle, limits))
            await _pump(other, one, idle, limits)
        is_done = True
    except TimeoutError:
        fault = ProxyFault.TIMEOUT
    except ExceptionGroup as group:
        if group.split(RookeryError)[1] is not None:
            raise
    finally:
        if not is_done:
            one.abort(fault.code)
            other.abort(fault.code)


async def _pump(
    source: MemberStream, sink: MemberStream, idle: IdleTimeout, limits: IdleLimits
) -> None:
    prompt_source, prompt_sink = _prompt(source), _prompt(sink)
    if prompt_source is not None and prompt_sink is not None:
        await DirectCopy(prompt_source, prompt_sink, idle.moved).source_ended()
    else:
        while data := await source.read(READ_SIZE):
            idle.moved()
            await sink.write(data)
            idle.moved()
    await sink.finish()
    idle.shorten(limits.half_closed_s)


def _prompt(stream: MemberStream) -> NonblockingStream | None:
    """The stream itself or what it stands for, if that needs nobody to wait for it."""
    carrier = stream.stream if isinstance(stream, ProxyConnection) else stream
    return carrier if isinstance(carrier, NonblockingStream) else None
