"""`rookery server`: connects clients with their devices, until stopped.

The first line of output is JSON: the server's hashname and its addresses.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from rookery.cli.fleet.keys import fleet_identity
from rookery.cli.fleet.tls_options import (
    InsecureHttp,
    Tls,
    TlsCert,
    TlsKey,
    check_tls,
    refuse_plain_http,
)
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_service, until_stopped
from rookery.cli.terminal.exit_codes import BIND_ADVICE, OK, advice
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json
from rookery.errors import UsageError
from rookery.fleet.enrolment.secrets import code_key
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.net.address import parse_address
from rookery.runtime.tls.certificate_files import CertificateFiles
from rookery.server.server import Server
from rookery.server.settings import ServerSettings

FOLDER = Path("rookery-server")
LISTEN = "127.0.0.1:0"
CODE_SIZE_MAX = 256
SEATS_MAX = 100_000


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServerListenOptions:
    """Addresses to listen on, and those that are advertised."""

    tcp: Annotated[
        str,
        Parameter(
            name="--tcp", help="Take hub, devices and clients here, IP:PORT; port 0 for a free one."
        ),
    ] = LISTEN
    http: Annotated[
        str | None,
        Parameter(
            name="--http",
            help="Take browsers' WebSockets here, IP:PORT; also /healthz, /readyz and /metrics.",
        ),
    ] = None
    advertise: Annotated[
        str,
        Parameter(
            name="--advertise",
            help="IP or IP:PORT that leads to --tcp from outside, where a NAT forwards it.",
        ),
    ] = ""
    advertise_ws: Annotated[
        str,
        Parameter(
            name="--advertise-ws",
            help="URL that leads browsers to --http, such as wss://host/rpc of a TLS proxy.",
        ),
    ] = ""
    origins: Annotated[
        tuple[str, ...],
        Parameter(
            name="--origin",
            negative="",
            show_default=False,
            help="Origin whose pages may open WebSockets; repeat for more. Without, any that "
            "has a ticket.",
        ),
    ] = ()
    tls: Tls = None
    tls_cert: TlsCert = None
    tls_key: TlsKey = None
    insecure_http: InsecureHttp = False


LISTEN_OPTIONS = ServerListenOptions()


def server(
    *,
    hub: Annotated[
        str,
        Parameter(name="--hub", help="LINK of the hub: what it prints first, or a file with it."),
    ],
    folder: Annotated[
        Path,
        Parameter(
            name="--id", help="Folder with the server's keys and memory; keys are made if absent."
        ),
    ] = FOLDER,
    listen_options: ServerListenOptions = LISTEN_OPTIONS,
    seats: Annotated[
        int, Parameter(name="--seats", help="How many devices may be connected at a time.")
    ] = 256,
    code_file: Annotated[
        Path | None,
        Parameter(name="--code-file", help="File with the code that lets this server enrol."),
    ] = None,
    output: Output = OUTPUT,
) -> int:
    if not 0 < seats <= SEATS_MAX:
        raise UsageError(f"--seats {seats}: give 1 to {SEATS_MAX}")
    tls = _tls(listen_options)
    if listen_options.http is not None and tls is None and not listen_options.insecure_http:
        refuse_plain_http(parse_address(listen_options.http)[0], "tickets and calls")
    address = HubAddress(parse_target(hub))
    settings = ServerSettings(
        folder=folder,
        tcp=listen_options.tcp,
        http=listen_options.http,
        advertise=listen_options.advertise,
        advertise_ws=listen_options.advertise_ws,
        origins=listen_options.origins,
        tls=tls,
        seats_max=seats,
        code="" if code_file is None else read_code(code_file),
    )
    identity = fleet_identity(folder)

    async def work() -> int:
        with advice(BIND_ADVICE):
            running = await Server.start(settings, identity, address)
        try:
            fields = {"hashname": running.hashname, "tcp": running.tcp}
            if running.http is not None:
                fields |= {"http": running.http, "ws": running.ws}
            print_json({**fields, "hub": address.hashname})
            await until_stopped()
        finally:
            await running.close()
        return OK

    return run_service(work())


def _tls(listen_options: ServerListenOptions) -> CertificateFiles | Literal["auto"] | None:
    """The TLS options; UsageError where they do not go together, or there is no --http."""
    check_tls(listen_options.tls, listen_options.tls_cert, listen_options.tls_key)
    chosen: CertificateFiles | Literal["auto"] | None = listen_options.tls
    if listen_options.tls_cert is not None and listen_options.tls_key is not None:
        chosen = CertificateFiles(listen_options.tls_cert, listen_options.tls_key)
    if chosen is not None and listen_options.http is None:
        raise UsageError("TLS is for --http IP:PORT; --tcp is sealed without it")
    return chosen


def read_code(file: Path) -> str:
    """The code in a file; UsageError when there is none."""
    try:
        with file.open(encoding="ascii") as stream:
            code = stream.read(CODE_SIZE_MAX).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read a code from {file}: {error}") from error
    if not code:
        raise UsageError(f"{file} holds no code; make one with: rookery fleet code --server")
    code_key(code)  # which says what is wrong with it
    return code
