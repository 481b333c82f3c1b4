"""Options of the verbs that link with an endpoint: LINK, our keys, our addresses."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.terminal.options import TIMEOUT_S

Target = Annotated[
    str,
    Parameter(
        name="LINK",
        allow_leading_hyphen=True,  # `-` is stdin
        help="Whom to link with: a link:// URI, a JSON link, a file holding one of them, "
        "a hashname, or - for stdin.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LinkOptions:
    """Our keys, our addresses, and routers that introduce us."""

    identity: Annotated[
        Path | None,
        Parameter(name="--id", help="Folder with our keys; without it, keys made for this call."),
    ] = None
    udp: Annotated[
        str | None,
        Parameter(
            name="--udp",
            help="Our UDP address, IP:PORT; without it, a free port on an interface that leads "
            "to LINK.",
        ),
    ] = None
    tcp: Annotated[
        str | None,
        Parameter(name="--tcp", help="Also listen on TCP, IP:PORT; dialling needs no listener."),
    ] = None
    via: Annotated[
        tuple[str, ...],
        Parameter(
            name="--via",
            negative="",
            show_default=False,
            help="LINK of a router that may introduce us, for a LINK that is a bare hashname.",
        ),
    ] = ()
    timeout_s: Annotated[
        float, Parameter(name="--timeout", help="Seconds to wait for the link.")
    ] = TIMEOUT_S


LINK_OPTIONS = LinkOptions()
