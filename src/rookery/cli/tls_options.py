"""How hub and server come by a certificate: from the fleet's own authority, or as files."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from rookery.errors import UsageError

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
