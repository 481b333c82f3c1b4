"""`rookery sock`: a local port whose connections go on from the other end of a link."""

import asyncio
from typing import Annotated, NoReturn

from cyclopts import Parameter

from rookery.cli.link.client_endpoint import dialled_link
from rookery.cli.link.options import LINK_OPTIONS, LinkOptions, Target
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_service
from rookery.cli.terminal.exit_codes import BIND_ADVICE, advice, complain
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json
from rookery.errors import DeniedError, UsageError
from rookery.runtime.endpoint.channels.sock import SockForward

LOCAL_HOST = "127.0.0.1"
_WATCH_S = 0.2


def sock(
    target: Target,
    forwarding: Annotated[
        str,
        Parameter(
            name="LOCALPORT:HOST:PORT",
            help="Listen on LOCALPORT here (0 for a free one); HOST:PORT as seen over there.",
        ),
    ],
    /,
    *,
    link_options: LinkOptions = LINK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    return run_service(_sock(target, *parse_forwarding(forwarding), link_options, output))


def parse_forwarding(text: str) -> tuple[int, str, int]:
    """`8000:192.0.2.1:80` or `8000:[2001:db8::1]:80`; UsageError for anything else."""
    local, _, remote = text.partition(":")
    host, _, port = remote.rpartition(":")
    if not host or not all(part.isascii() and part.isdecimal() for part in (local, port)):
        raise UsageError(
            f"{text!r} is no forwarding; give LOCALPORT:HOST:PORT, as in 8000:127.0.0.1:80"
        )
    return int(local), host.removeprefix("[").removesuffix("]"), int(port)


async def _sock(
    target: str, local_port: int, host: str, port: int, link_options: LinkOptions, output: Output
) -> int:
    async with dialled_link(parse_target(target), link_options) as link:
        with advice(BIND_ADVICE):
            forward = await link.forward(LOCAL_HOST, local_port, host, port)
        async with forward:
            if output.json:
                listening = {"host": LOCAL_HOST, "port": forward.port}
                to = {"host": host, "port": port}
                print_json({"listening": listening, "to": to, "hashname": link.hashname})
            else:
                where = f"{LOCAL_HOST}:{forward.port}"
                print(f"{where} -> {host}:{port} through {link.hashname[:8]}", flush=True)
            await _watch(forward)


async def _watch(forward: SockForward) -> NoReturn:
    """A program that connects sees only a reset; print here why."""
    shown = None
    while True:
        await asyncio.sleep(_WATCH_S)
        if forward.last_error is not None and forward.last_error is not shown:
            shown = forward.last_error
            hint = (
                "; start that endpoint with --sock RULE" if isinstance(shown, DeniedError) else ""
            )
            complain(f"{shown}{hint}")
