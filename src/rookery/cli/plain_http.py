"""HTTP without TLS stays on this machine, unless somebody says in words that it need not."""

from typing import Annotated

from cyclopts import Parameter

from rookery.errors import UsageError
from rookery.runtime.gates.address import is_loopback

InsecureHttp = Annotated[
    bool,
    Parameter(
        name="--insecure-http",
        negative="",
        show_default=False,
        help="Have HTTP without TLS beyond this machine, where everybody on the way can read it.",
    ),
]


def refuse_plain(host: str, what: str) -> None:
    """UsageError where others could reach a listener without TLS, and read `what` there."""
    if not is_loopback(host):
        raise UsageError(
            f"--http on {host or 'all addresses'} without TLS would show {what} to everybody on "
            "the way; say --tls auto, or give --tls-cert and --tls-key, or listen on 127.0.0.1 "
            "behind a proxy that speaks TLS, or say --insecure-http"
        )
