"""Settings and counters of the report validator."""

from typing import Literal

import msgspec

from rookery.errors import UsageError

EnrolmentPolicy = Literal["open", "claim"]

RENEWAL_S_MAX = 366 * 86_400


class ReportValidatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Rates are per second."""

    policy: EnrolmentPolicy = "claim"  # of devices; servers always need a code
    renewal_s: int = 86_400
    legacy_plain: bool = False  # take reports that carry the secret itself
    secrets_max: int = 262_144  # derived and kept in memory, about 550 bytes each
    # Of hellos, by source network. Excess ones are dropped before any lookup.
    address_rate: float = 5.0
    address_burst: float = 50.0
    addresses_max: int = 65_536
    hello_rate: float = 2000.0
    hello_burst: float = 4000.0
    # Of sealed secrets, at 0.2 ms each: unknown senders must not use up the share of known ones.
    stranger_rate: float = 500.0
    known_rate: float = 500.0
    renewal_rate: float = 500.0
    event_rate: float = 1.0  # of each kind; the counters tell of all
    event_burst: float = 20.0

    def __post_init__(self) -> None:
        if not 0 < self.renewal_s <= RENEWAL_S_MAX:
            raise UsageError(f"secrets are renewed after 1 to {RENEWAL_S_MAX} seconds")


class ReportValidatorCounters(msgspec.Struct, kw_only=True):
    """Since the hub started; each datagram is in exactly one of the first two groups."""

    # Taken:
    reports: int = 0
    repeats: int = 0  # acknowledged once more
    hellos: int = 0  # answered by a secret
    # Refused:
    malformed: int = 0
    plain_refused: int = 0  # carries its secret, and the setting does not allow it
    limited: int = 0  # hellos beyond what one address, or all of them, may send
    busy: int = 0  # hellos beyond the secrets that may be sealed, or the room of the registry
    unknown: int = 0  # no sender with that id has enrolled
    ahead: int = 0  # proved with a secret of a time that has not come
    late: int = 0
    stale: int = 0
    forged: int = 0
    old_secret: int = 0
    foreign_key: int = 0
    denied: int = 0
    # In addition:
    enrolled: int = 0
    renewals: int = 0
    renewals_put_off: int = 0
    replays: int = 0
    clones: int = 0
    events_shed: int = 0
