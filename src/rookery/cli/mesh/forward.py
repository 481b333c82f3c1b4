"""`rookery forward`: a port of this machine that leads to one place at another node, or back."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import CONTROL_OPTIONS, ControlOptions
from rookery.cli.mesh.listeners import run_listeners
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.errors import UsageError
from rookery.link.channels.sock import SockAddress
from rookery.runtime.control.messages import ListenerRequest
from rookery.runtime.net.address import parse_address
from rookery.runtime.node.snapshot import ListenerKind

LOCAL_HOST = "127.0.0.1"


def forward(
    *forwardings: Annotated[
        str,
        Parameter(
            name="LOCAL:HOST:PORT@NODE",
            help="Listen on LOCAL here, a port or IP:PORT (0 for a free port); HOST:PORT as seen "
            "from NODE, which may be auto. Give more for more.",
        ),
    ],
    udp: Annotated[
        bool,
        Parameter(
            name="--udp", negative="", show_default=False, help="Datagrams instead of connections."
        ),
    ] = False,
    reverse: Annotated[
        bool,
        Parameter(
            name="--reverse",
            negative="",
            show_default=False,
            help="Reverse it: LOCAL is a port of NODE, HOST:PORT is as seen from here.",
        ),
    ] = False,
    serial: Annotated[
        bool,
        Parameter(
            name="--serial",
            negative="",
            show_default=False,
            help="LOCAL:NAME@NODE: a serial line of NODE as a TCP port here.",
        ),
    ] = False,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if udp + reverse + serial > 1:
        raise UsageError("give one of --udp, --reverse and --serial at most")
    if not forwardings:
        raise UsageError("give LOCAL:HOST:PORT@NODE, as in 8000:127.0.0.1:80@bob")
    if serial:
        wanted = [parse_line(text) for text in forwardings]
    else:
        kind = ListenerKind.UDP if udp else ListenerKind.REVERSE if reverse else ListenerKind.TCP
        wanted = [parse_forwarding(text, kind) for text in forwardings]
    return run_listeners(wanted, control_options, output)


def parse_forwarding(text: str, kind: ListenerKind) -> ListenerRequest:
    """`8000:192.0.2.1:80@bob`, `[::1]:8000:[2001:db8::1]:80@auto`; UsageError for others."""
    places, _, node = text.rpartition("@")
    rest, _, port = places.rpartition(":")
    if rest.endswith("]"):
        listen, _, host = rest[:-1].rpartition(":[")
    else:
        listen, _, host = rest.rpartition(":")
    if not (node and listen and host) or not (port.isascii() and port.isdecimal()):
        raise UsageError(
            f"{text!r} is no forward; give LOCAL:HOST:PORT@NODE, as in 8000:127.0.0.1:80@bob"
        )
    if kind is ListenerKind.REVERSE and not listen.isdecimal():
        raise UsageError(f"{text!r}: the rules of {node} say on which address; give a port only")
    return ListenerRequest(
        kind=kind, exit=node, listen=_local(listen), to=SockAddress(host, int(port))
    )


def parse_line(text: str) -> ListenerRequest:
    """`7000:meter@bob`."""
    rest, _, node = text.rpartition("@")
    listen, _, name = rest.rpartition(":")
    if not (node and listen and name):
        raise UsageError(f"{text!r} is no serial line; give LOCAL:NAME@NODE, as in 7000:meter@bob")
    return ListenerRequest(kind=ListenerKind.SERIAL, exit=node, listen=_local(listen), line=name)


def _local(text: str) -> SockAddress:
    return SockAddress(*parse_address(f"{LOCAL_HOST}:{text}" if text.isdecimal() else text))
