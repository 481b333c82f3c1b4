"""How a server is set up: one frozen value, read once at the edge."""

from pathlib import Path
from typing import Literal

import msgspec

from rookery.fleet.rendezvous.seats import LEASE_S, LINGER_S
from rookery.fleet.rpc.relay import RelayLimits
from rookery.runtime.fleet.admission import ConnectionAdmissionLimits
from rookery.runtime.tls.certificate_files import CertificateFiles
from rookery.server.lease_client import LeaseLimits

REPORT_INTERVAL_S = 20.0


class ServerListenerLimits(ConnectionAdmissionLimits, frozen=True, kw_only=True):
    """Bounds of both listeners together, and of each connection."""

    authenticate_s: float = 10.0  # from the first byte to a seat
    idle_s: float = 600.0  # without a sign of life of a client or hub
    ping_s: float = 20.0  # between signs of life of ours
    slow_s: float = 30.0  # for a peer to take what waits for it
    unsent_bytes_max: int = 4 << 20  # to one peer; beyond, it is lost
    waiting_max: int = 8  # messages read ahead


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a server."""

    folder: Path  # its keys are there, and what it remembers
    tcp: str = "127.0.0.1:0"
    http: str | None = None  # for browsers, health and metrics
    advertise: str = ""  # IP or IP:PORT that leads to `tcp` from outside
    advertise_ws: str = ""  # URL that leads to `http` from outside
    tls: CertificateFiles | Literal["auto"] | None = None  # of `http`; auto: by the hub
    seats_max: int = 256
    code: str = ""  # lets it enrol
    origins: tuple[str, ...] = ()  # whose pages may open WebSockets; none: all, with a ticket
    report_s: float = REPORT_INTERVAL_S
    linger_s: float = LINGER_S  # for a client to come back
    lease_s: float = LEASE_S  # for a seat that no hub renews
    drain_s: float = 1.5  # for open calls, once the server is told to stop
    listener: ServerListenerLimits = ServerListenerLimits()
    relay: RelayLimits = RelayLimits()
    leases: LeaseLimits = LeaseLimits()
