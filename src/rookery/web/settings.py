"""How the HTTP side is set up: one frozen value, read once at the edge."""

from pathlib import Path
from typing import Literal

import msgspec

from rookery.runtime.tls.certificate import LIFETIME_S
from rookery.web.alerts.settings import AlertSettings

DAY_S = 86_400


class PasswordCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one try of a password costs us, and so a thief of the database."""

    time: int = 3
    memory_kib: int = 65_536
    lanes: int = 1
    at_once_max: int = 2
    waiting_max: int = 32  # queued; beyond them, 503


class LoginThrottleLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many failed sign-ins are allowed within one window.

    The bound per account is far above what a person mistypes: locking an owner out takes guesses
    from many addresses, which the audit shows.
    """

    window_s: int = 300
    per_account_and_address: int = 8
    per_address: int = 32
    per_account: int = 200
    registrations_per_address: int = 16
    # Wrong codes beside the right password: a million codes, of which three are good at a time.
    codes_per_account: int = 8
    codes_window_s: int = 3600


class WebLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of what one request, one account and all of them may hold."""

    body_bytes_max: int = 1 << 16
    request_s: float = 30.0
    connect_s: float = 180.0  # a rendezvous takes its own time; this is the outermost bound
    headers_s: float = 10.0  # for a request to come, body included, and for its answer to be taken
    keep_alive_s: int = 15
    connections_max: int = 2048
    connections_per_address: int = 256  # not where a trusted proxy makes them all
    connects_per_account: int = 4
    changes_per_s: float = 1.0  # of one account
    changes_burst: float = 300.0
    sessions_per_account: int = 32
    tokens_per_account: int = 32
    open_codes_per_account: int = 32


class WebSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of HTTP; each has a default."""

    public_url: str = ""  # what browsers see, where a proxy stands between
    trusted_proxies: str = ""  # addresses whose X-Forwarded-For and -Proto are believed
    tls_cert: Path | None = None
    tls_key: Path | None = None
    is_tls_auto: bool = False  # with a certificate of the hub's own authority
    tls_names: tuple[str, ...] = ()  # by which browsers reach us, beside those that are known
    tls_lifetime_s: float = LIFETIME_S  # of such a certificate
    registration: Literal["open", "closed"] = "open"
    session_idle_s: int = 7 * DAY_S
    session_s: int = 30 * DAY_S
    proof_s: int = 900  # how long after a proof accounts, tokens and factors may be administered
    second_factor: Literal["none", "admins", "all"] = "none"  # which accounts need one
    code_s: int = DAY_S  # how long a claim code is good
    audit_s: int = 730 * DAY_S  # how long rows are kept
    lake: str = ""  # folder or URL; empty: the pages show only what is now
    node: Path | None = None  # control socket of the mesh node beside us; None: no map
    alerts: AlertSettings = AlertSettings()
    alerts_s: int = 90 * DAY_S  # how long it is remembered what was the matter
    password_cost: PasswordCost = PasswordCost()
    guesses: LoginThrottleLimits = LoginThrottleLimits()
    limits: WebLimits = WebLimits()

    @property
    def is_tls(self) -> bool:
        """Whether we speak TLS ourselves."""
        return self.tls_cert is not None or self.is_tls_auto

    @property
    def is_https(self) -> bool:
        """True if browsers are known to use https, whatever a single request says."""
        return self.is_tls or self.public_url.startswith("https://")
