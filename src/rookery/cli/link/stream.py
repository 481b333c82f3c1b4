"""`rookery stream`: stdin goes to the other end of a link, what comes back goes to stdout."""

import asyncio

from rookery.cli.link.client_endpoint import dialled_link
from rookery.cli.link.options import LINK_OPTIONS, LinkOptions, Target
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_verb
from rookery.cli.terminal import stdio
from rookery.cli.terminal.exit_codes import OK, served_by
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json
from rookery.errors import UsageError
from rookery.runtime.endpoint.channels.stream import LinkStream

_READ_SIZE = 1 << 16


def stream(
    target: Target, /, *, link_options: LinkOptions = LINK_OPTIONS, output: Output = OUTPUT
) -> int:
    if target == "-":
        raise UsageError("stdin cannot be both LINK and the data; give LINK as a file or URI")
    return run_verb(_stream(target, link_options, output))


async def _stream(target: str, link_options: LinkOptions, output: Output) -> int:
    async with dialled_link(parse_target(target), link_options) as link:
        with served_by(link.hashname[:8], "--echo"):
            stream = link.stream()
            sent, received = await _both_ways(stream, is_quiet=output.json)
            stream.close()
            await stream.wait_closed()
        if output.json:
            print_json({"hashname": link.hashname, "sent": sent, "received": received})
    return OK


async def _both_ways(stream: LinkStream, *, is_quiet: bool) -> tuple[int, int]:
    """Each direction ends on its own; a failure of one ends both."""
    loop = asyncio.get_running_loop()
    up, down = loop.create_task(_send(stream)), loop.create_task(_receive(stream, is_quiet))
    try:
        await asyncio.wait([up, down], return_when=asyncio.FIRST_EXCEPTION)
        for task in (up, down):
            if task.done():
                task.result()
        return up.result(), down.result()
    finally:
        up.cancel()
        down.cancel()


async def _send(stream: LinkStream) -> int:
    size = 0
    async for data in stdio.chunks():
        stream.write(data)
        await stream.drain()
        size += len(data)
    stream.write_eof()
    return size


async def _receive(stream: LinkStream, is_quiet: bool) -> int:
    size = 0
    while data := await stream.read(_READ_SIZE):
        size += len(data)
        if not is_quiet:
            await stdio.write(data)
    return size
