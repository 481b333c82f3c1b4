"""The options that the verbs of crow share."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

LOOPBACK = "127.0.0.1"
ACKQUANT_MS = 200
BROKER_PORT = 10009
BROKER = f".12.127.0.0.1:{BROKER_PORT}"

Serial = Annotated[
    str | None,
    Parameter(
        name="--serial",
        help="Serial line, gate 42: PATH[:BAUD[:v0|v1[:g0|g1]]]; v is the header and g the "
        "framing that its other end speaks.",
    ),
]
Bind = Annotated[
    str,
    Parameter(name="--bind", help="Our IPv4 address; 0.0.0.0 for all that this machine has."),
]

Data = Annotated[
    str,
    Parameter(name="DATA", allow_leading_hyphen=True, help="TEXT, @FILE, or - for stdin."),
]
Theme = Annotated[str, Parameter(name="THEME", help="A name of up to 255 bytes.")]
Forward = Annotated[
    bool,
    Parameter(
        name="--forward",
        negative="",
        show_default=False,
        help="Also pass packets of others on, wherever their route leads.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CrowListenOptions:
    """Where a tower listens."""

    udp: Annotated[
        int | None, Parameter(name="--udp", help="UDP port, gate 12; 0 for a free one.")
    ] = None
    tcp: Annotated[
        int | None, Parameter(name="--tcp", help="TCP port, gate 13; 0 for a free one.")
    ] = None
    serial: Serial = None
    bind: Bind = LOOPBACK
    allow: Annotated[
        tuple[str, ...],
        Parameter(
            name="--allow",
            negative="",
            show_default=False,
            help="Talk with this NETWORK, as in 192.168.1.0/24 or tcp=10.0.0.5 for one gate; "
            "repeat for more. Without it, with this machine only.",
        ),
    ] = ()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CrowSendOptions:
    """The local addresses that packets leave from, and answers come to."""

    udp: Annotated[int, Parameter(name="--udp", help="Our UDP port; 0 for a free one.")] = 0
    serial: Serial = None
    bind: Bind = LOOPBACK


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CrowQosOptions:
    """Quality of service of a message."""

    qos: Annotated[
        int, Parameter(name="--qos", help="0 sent once, 1 at least once, 2 exactly once.")
    ] = 1
    ackquant_ms: Annotated[
        int,
        Parameter(name="--ackquant", help="Milliseconds until it is repeated, up to 634."),
    ] = ACKQUANT_MS


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CrowBrokerOptions:
    """The address of the broker."""

    address: Annotated[str, Parameter(name="--broker", help="The route to the broker's tower.")] = (
        BROKER
    )


LISTEN_OPTIONS = CrowListenOptions()
BROKER_OPTIONS = CrowBrokerOptions()
SEND_OPTIONS = CrowSendOptions()
QOS_OPTIONS = CrowQosOptions()
