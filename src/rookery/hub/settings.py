"""How a hub is set up: one frozen value, read once at the edge."""

from pathlib import Path

import msgspec

from rookery.fleet.rendezvous.rendezvous import RendezvousLimits
from rookery.fleet.reports.validator_settings import EnrolmentPolicy
from rookery.runtime.fleet.admission import ConnectionAdmissionLimits

REPORT_INTERVAL_S = 20.0
RENEWAL_S = 86_400
UNCLAIMED_S = 30 * 86_400.0


class HubListenerLimits(ConnectionAdmissionLimits, frozen=True, kw_only=True):
    """Bounds of the TCP listener."""

    address_connections_max: int = 64  # each stays for moments only
    authenticate_s: float = 10.0  # from the first byte to a proved identity
    idle_s: float = 60.0  # without a message on an idle connection
    received_bytes_max: int = 1 << 16  # over one connection: a device has little to say
    unsent_bytes_max: int = 1 << 18


class ReportLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of the UDP listener."""

    waiting_max: int = 8192  # datagrams that are read, but not decided; more stay in the socket
    batch_max: int = 512  # of them, decided together
    undurable_max: int = 32_768  # reports that are decided, but not on disk; more are shed
    strangers_max: int = 1024  # that wait for their code to be looked up


class SpoolLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what was reported is kept for the lake."""

    segment_bytes: int = 64 << 20
    bytes_max: int = 4 << 30
    keep_bytes: int = 2 << 30  # what is beyond is trimmed, oldest first


class HubSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a hub; only the data folder is required."""

    data: Path  # keys, database, snapshot and spool live below it
    udp: str = "127.0.0.1:0"
    tcp: str = "127.0.0.1:0"
    database: str = ""  # URL; empty: an SQLite file in the data folder
    hot: str = "ram:"
    advertise: str = ""  # IP that leads here from outside, where it is not the one listened on
    policy: EnrolmentPolicy = "claim"
    renewal_s: int = RENEWAL_S
    is_authority: bool = False  # sign certificates, its own and those of servers
    is_legacy_plain: bool = False  # take reports that carry the secret itself
    silent_after_s: float = 3 * REPORT_INTERVAL_S
    unclaimed_s: float = UNCLAIMED_S  # of silence, then a device without an owner is forgotten
    flush_s: float = 10.0  # between writes to the database
    refresh_s: float = 60.0  # in which all that changed is written, however much it is
    rendezvous: RendezvousLimits = RendezvousLimits()
    listener: HubListenerLimits = HubListenerLimits()
    reports: ReportLimits = ReportLimits()
    spool: SpoolLimits = SpoolLimits()
    forecast: Path | None = None  # file with what an analysis expects of servers
    forecasters: tuple[str, ...] = ()  # hashnames of trusted forecasters
    is_forecast_followed: bool = True

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'hub.sqlite'}"

    @property
    def is_hot_in_memory(self) -> bool:
        return self.hot == "ram:"
