"""The exit's answer to a request: written by the exit, read by the other side."""

import asyncio
from collections.abc import Mapping

from rookery.errors import RookeryError
from rookery.mesh.proxy.answer import PREFIX_SIZE, ProxyAnswer, answer_size
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.services import PROXY
from rookery.runtime.tunnels.member_stream import (
    READ_SIZE,
    MemberStream,
    OpenTunnelled,
    TunnelledStream,
    read_exactly,
)

REFUSED_S = 5.0  # for a refused member to stop sending


async def ask(
    open_stream: OpenTunnelled, hashname: str, meta: Mapping[str, object]
) -> tuple[TunnelledStream, ProxyAnswer]:
    """Open a `proxy` stream and wait for the answer; RookeryError when none comes."""
    stream = await open_stream(hashname, PROXY, meta)
    try:
        size = answer_size(await read_exactly(stream, PREFIX_SIZE))
        answer = ProxyAnswer.parse(await read_exactly(stream, size))
    except BaseException:
        stream.abort(ProxyFault.GONE.code)
        raise
    if answer.fault is not None:
        stream.abort(ProxyFault.GONE.code)
    return stream, answer


async def refuse(stream: MemberStream, fault: ProxyFault, load: int = 0) -> None:
    """Send the refusal, and let the other side read it before the stream ends."""
    try:
        async with asyncio.timeout(REFUSED_S):
            await stream.write(ProxyAnswer(fault, None, load).serialize())
            await stream.finish()
            while await stream.read(READ_SIZE):
                pass
    except TimeoutError:
        stream.abort(fault.code)
    except RookeryError:
        return  # it has read the reason and ended the stream
    except BaseException:
        stream.abort(fault.code)
        raise
