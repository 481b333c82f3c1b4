"""`rookery socks`: SOCKS5 and HTTP CONNECT listeners here that lead out at another node."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import CONTROL_OPTIONS, ControlOptions
from rookery.cli.mesh.listeners import ExitName, run_listeners
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.errors import UsageError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.runtime.control.messages import ListenerRequest
from rookery.runtime.net.address import parse_address
from rookery.runtime.node.snapshot import ListenerKind

LISTEN = "127.0.0.1:1080"
_FIELD_SIZE_MAX = 255


def socks(
    *,
    exit_: ExitName,
    listen: Annotated[
        str,
        Parameter(name="--listen", help="Take SOCKS5 here, IP:PORT; port 0 for a free one."),
    ] = LISTEN,
    http: Annotated[
        str | None,
        Parameter(name="--http", help="Take HTTP CONNECT here as well, IP:PORT."),
    ] = None,
    login: Annotated[
        Path | None,
        Parameter(
            name="--login",
            help="File with USER:PASSWORD that programs have to give; needed beyond loopback.",
        ),
    ] = None,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    credentials = None if login is None else read_login(login)
    places = [(ListenerKind.SOCKS, listen)]
    if http is not None:
        places.append((ListenerKind.HTTP, http))
    wanted = [
        ListenerRequest(
            kind=kind, exit=exit_, listen=SockAddress(*parse_address(text)), credentials=credentials
        )
        for kind, text in places
    ]
    return run_listeners(wanted, control_options, output)


def read_login(path: Path) -> ProxyCredentials:
    """The first line of a file; UsageError when it is none."""
    try:
        with path.open(encoding="utf-8") as file:
            line = file.readline(4 * _FIELD_SIZE_MAX).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read a login from {path}; write USER:PASSWORD there") from error
    user, _, password = line.partition(":")
    if not all(0 < len(part.encode()) <= _FIELD_SIZE_MAX for part in (user, password)):
        raise UsageError(f"{path} holds no USER:PASSWORD of at most {_FIELD_SIZE_MAX} bytes each")
    return ProxyCredentials(user, password)
