"""TLS options of hub and server: a certificate of the fleet's own authority, or files.

Plain HTTP is for loopback only, unless --insecure-http allows more."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from rookery.errors import UsageError
from rookery.runtime.net.address import is_loopback

Tls = Annotated[
    Literal["auto"] | None,
    Parameter(
        name="--tls",
        help="`auto`: speak TLS with a certificate of the fleet's own authority, which the hub "
        "makes at its first start. It is renewed by itself.",
    ),
]
TlsCert = Annotated[
    Path | None,
    Parameter(
        name="--tls-cert",
        help="Certificate chain, to speak TLS; read anew when the file is replaced.",
    ),
]
TlsKey = Annotated[Path | None, Parameter(name="--tls-key", help="Its private key.")]


def check_tls(tls: str | None, cert: Path | None, key: Path | None) -> None:
    """UsageError where these do not go together."""
    if (cert is None) != (key is None):
        raise UsageError("--tls-cert and --tls-key go together")
    if tls is not None and cert is not None:
        raise UsageError("--tls auto makes its own certificate; leave out --tls-cert and --tls-key")


InsecureHttp = Annotated[
    bool,
    Parameter(
        name="--insecure-http",
        negative="",
        show_default=False,
        help="Have HTTP without TLS beyond this machine, where it can be read in transit.",
    ),
]


def refuse_plain_http(host: str, what: str) -> None:
    """UsageError where others could reach a listener without TLS, and read `what` there."""
    if not is_loopback(host):
        raise UsageError(
            f"--http on {host or 'all addresses'} without TLS would show {what} to everybody on "
            "the way; say --tls auto, or give --tls-cert and --tls-key, or listen on 127.0.0.1 "
            "behind a proxy that speaks TLS, or say --insecure-http"
        )
