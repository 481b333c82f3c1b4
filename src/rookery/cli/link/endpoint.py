"""`rookery endpoint`: serve links until stopped. The first line of output is the JSON link."""

import asyncio
import ssl
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.link.acceptance import Accept, Known, Via, accept, trust_routers
from rookery.cli.link.keys import load_identity
from rookery.cli.runner import run_service, until_stopped
from rookery.cli.terminal.exit_codes import BIND_ADVICE, OK, advice
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_link
from rookery.errors import UsageError
from rookery.link.channels.sock_rules import Rules
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.create import create
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.tls import server_context
from rookery.runtime.net.address import LOOPBACK

_ECHO_SIZE = 1 << 16


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EndpointListenOptions:
    """Where to listen."""

    udp: Annotated[
        str | None,
        Parameter(name="--udp", help="Listen on UDP, IP:PORT, port 0 for a free one."),
    ] = None
    tcp: Annotated[
        str | None,
        Parameter(name="--tcp", help="Listen on TCP, IP:PORT; WebSockets come there too."),
    ] = None
    tls: Annotated[
        str | None, Parameter(name="--tls", help="Listen on TLS, IP:PORT; needs --cert and --key.")
    ] = None
    unix: Annotated[
        Path | None,
        Parameter(name="--unix", help="Listen on a Unix socket, for programs of this machine."),
    ] = None
    cert: Annotated[Path | None, Parameter(name="--cert", help="Certificate chain, PEM.")] = None
    key: Annotated[Path | None, Parameter(name="--key", help="Its key, PEM, unencrypted.")] = None

    def tls_context(self) -> ssl.SSLContext | None:
        if self.tls is None:
            return None
        if self.cert is None or self.key is None:
            raise UsageError("--tls needs a certificate; give --cert FILE and --key FILE")
        with advice("give the PEM files of one certificate to --cert and --key"):
            return server_context(self.cert, self.key)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EndpointServiceOptions:
    """Services for linked peers."""

    router: Annotated[
        bool,
        Parameter(
            name="--router", negative="", show_default=False, help="Introduce peers to each other."
        ),
    ] = False
    thtp: Annotated[
        str | None,
        Parameter(
            name="--thtp", help="Answer HTTP with the files of DIR, or pass it on to http://HOST."
        ),
    ] = None
    sock: Annotated[
        tuple[str, ...],
        Parameter(
            name="--sock",
            negative="",
            show_default=False,
            help='Open sockets for peers as far as this RULE goes, as in "tcp 127.0.0.1:8080"; '
            "repeat for more.",
        ),
    ] = ()
    box: Annotated[
        bool,
        Parameter(
            name="--box",
            negative="",
            show_default=False,
            help="Keep messages, in memory, for those who are away.",
        ),
    ] = False
    echo: Annotated[
        bool,
        Parameter(
            name="--echo", negative="", show_default=False, help="Send every stream's bytes back."
        ),
    ] = False


LISTEN_OPTIONS = EndpointListenOptions()
SERVICE_OPTIONS = EndpointServiceOptions()


def endpoint(
    *,
    identity: Annotated[Path, Parameter(name="--id", help="Folder with the endpoint's keys.")],
    listen_options: EndpointListenOptions = LISTEN_OPTIONS,
    accepting: Accept = "known",
    known: Known = (),
    via: Via = (),
    services: EndpointServiceOptions = SERVICE_OPTIONS,
    discover_s: Annotated[
        float, Parameter(name="--discover", help="Announce ourselves nearby for SECONDS.")
    ] = 0.0,
    output: Output = OUTPUT,
) -> int:
    async def work() -> int:
        async with AsyncExitStack() as stack:
            endpoint = await stack.enter_async_context(await _listen(identity, listen_options))
            serve(endpoint, services)
            accept(endpoint, accepting, known)
            trust_routers(endpoint, via)
            if discover_s > 0:
                endpoint.discover(seconds=discover_s)
            print_link(endpoint.address, is_versioned=output.json)
            await until_stopped()
        return OK

    return run_service(work())


async def _listen(folder: Path, listen_options: EndpointListenOptions) -> AsyncEndpoint:
    keys, context = await asyncio.to_thread(load_identity, folder), listen_options.tls_context()
    udp, tcp, tls = listen_options.udp, listen_options.tcp, listen_options.tls
    if udp is None and tcp is None and tls is None and listen_options.unix is None:
        udp = tcp = LOOPBACK
    with advice(BIND_ADVICE):
        return await create(
            keys, udp=udp, tcp=tcp, tls=tls, tls_context=context, unix=listen_options.unix
        )


def serve(endpoint: AsyncEndpoint, services: EndpointServiceOptions) -> None:
    """Offer what the options name, and nothing else."""
    if services.router:
        endpoint.route()
    if services.thtp is not None and "://" in services.thtp:
        with advice("give --thtp http://HOST:PORT or a folder"):
            endpoint.proxy_http(services.thtp)
    elif services.thtp is not None:
        with advice("give --thtp a folder or http://HOST:PORT"):
            endpoint.serve_files(Path(services.thtp))
    if services.sock:
        with advice('write a rule as in --sock "tcp 127.0.0.1:8080"'):
            endpoint.on_sock(Rules.parse(services.sock))
    if services.box:
        endpoint.keep_boxes()
    if services.echo:
        endpoint.on_stream(_echo)


async def _echo(stream: LinkStream) -> None:
    while data := await stream.read(_ECHO_SIZE):
        stream.write(data)
        await stream.drain()
