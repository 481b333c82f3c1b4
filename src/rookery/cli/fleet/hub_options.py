"""Options of `rookery hub`, in groups: addresses, storage, enrolment, pages, forecasts.

Those of alerts are in `alert_options.py`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from rookery.cli.fleet.tls_options import InsecureHttp, Tls, TlsCert, TlsKey

FOLDER = Path("rookery-hub")
FLEET_PORT = 7420
HTTP_PORT = 8420


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class HubListenOptions:
    """Addresses to listen on, and those that are advertised."""

    http: Annotated[
        str,
        Parameter(
            name="--http",
            help="Take browsers and the CLI here, IP:PORT; also /healthz, /readyz and /metrics. "
            "`none` for a hub without.",
        ),
    ] = f"127.0.0.1:{HTTP_PORT}"
    udp: Annotated[
        str,
        Parameter(name="--udp", help="Take reports here, IP:PORT; port 0 for a free one."),
    ] = f"127.0.0.1:{FLEET_PORT}"
    tcp: Annotated[
        str,
        Parameter(name="--tcp", help="Take connections of devices here, IP:PORT."),
    ] = f"127.0.0.1:{FLEET_PORT}"
    advertise: Annotated[
        str,
        Parameter(name="--advertise", help="IP that leads here from outside, behind a NAT."),
    ] = ""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class HubStoreOptions:
    """Data folder, database and hot store."""

    data: Annotated[
        Path,
        Parameter(name="--data", help="Folder for keys, database, snapshot and spool."),
    ] = FOLDER
    database: Annotated[
        str,
        Parameter(
            name="--db",
            help="URL of the database, such as mysql://user@host/rookery; else an SQLite file in "
            "--data.",
        ),
    ] = ""
    hot: Annotated[
        str,
        Parameter(
            name="--hot", help="URL of the hot store: ram:, or redis://HOST for several hubs."
        ),
    ] = "ram:"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EnrolmentOptions:
    """Which devices may enrol, and when they count as silent."""

    policy: Annotated[
        Literal["open", "claim"],
        Parameter(
            name="--policy",
            help="Whether any device may enrol, or only one with a code; servers always need one. "
            "Devices that are enrolled already stay so.",
        ),
    ] = "claim"
    renewal_s: Annotated[
        int, Parameter(name="--renewal", help="Seconds between new secrets for devices.")
    ] = 86_400
    unclaimed_days: Annotated[
        float,
        Parameter(
            name="--unclaimed-days",
            help="Days of silence after which a device without an owner is forgotten; 0: never.",
        ),
    ] = 30.0
    silent_after_s: Annotated[
        float,
        Parameter(name="--silent-after", help="Seconds without a report that make one silent."),
    ] = 60.0
    device_within_s: Annotated[
        float,
        Parameter(
            name="--router-within",
            help="Seconds to wait for the report of a requested device, and then for its "
            "connection.",
        ),
    ] = 45.0
    legacy_plain: Annotated[
        bool,
        Parameter(
            name="--legacy-plain",
            negative="",
            show_default=False,
            help="Take reports of old devices, which carry the secret itself.",
        ),
    ] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class HubWebOptions:
    """Pages and API."""

    public_url: Annotated[
        str,
        Parameter(name="--public-url", help="URL that browsers see, where a proxy stands between."),
    ] = ""
    trusted_proxies: Annotated[
        str,
        Parameter(
            name="--trusted-proxies",
            help="Addresses whose X-Forwarded headers are believed, separated by commas.",
        ),
    ] = ""
    tls: Tls = None
    tls_cert: TlsCert = None
    tls_key: TlsKey = None
    tls_names: Annotated[
        tuple[str, ...],
        Parameter(
            name="--tls-name",
            negative="",
            show_default=False,
            help="Another name or address of the hub, for the certificate of --tls auto; repeat "
            "for more. Those of this machine, --advertise and --public-url are known.",
        ),
    ] = ()
    insecure_http: InsecureHttp = False
    registration: Annotated[
        Literal["open", "closed"],
        Parameter(name="--registration", help="Whether visitors may make an account themselves."),
    ] = "open"
    second_factor: Annotated[
        Literal["none", "admins", "all"],
        Parameter(
            name="--require-second-factor",
            help="Which accounts need an authenticator app or a passkey; without one they may only "
            "set one up.",
        ),
    ] = "none"
    lake: Annotated[
        str,
        Parameter(
            name="--lake", help="Folder or URL of the lake, for the pages that show what was."
        ),
    ] = ""
    node: Annotated[
        Path | None,
        Parameter(
            name="--node",
            help="Folder of a mesh node on this machine, or its control socket, for the map.",
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class HubForecastOptions:
    """Whose forecasts of server load are followed."""

    forecast: Annotated[
        Path | None,
        Parameter(
            name="--forecast",
            help="File that a lake exports, with what it expects of the servers; read again "
            "when it changes, so that deleting it ends its effect.",
        ),
    ] = None
    forecasters: Annotated[
        tuple[str, ...],
        Parameter(
            name="--forecaster",
            negative="",
            show_default=False,
            help="HASHNAME of a signer whose forecasts are followed; repeat for more. None by "
            "default.",
        ),
    ] = ()
    no_forecast: Annotated[
        bool,
        Parameter(
            name="--no-forecast",
            negative="",
            show_default=False,
            help="Choose servers without forecasts, whatever else is said.",
        ),
    ] = False


LISTEN_OPTIONS = HubListenOptions()
STORE_OPTIONS = HubStoreOptions()
ENROLMENT_OPTIONS = EnrolmentOptions()
FORECAST_OPTIONS = HubForecastOptions()
WEB_OPTIONS = HubWebOptions()
