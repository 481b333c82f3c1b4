"""Reporter limits: how much a reporter keeps, and how often it tries. Counters beside them."""

import msgspec


class ReporterLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds."""

    kept_max: int = 4320  # reports, a day of them; the oldest is dropped for the newest
    in_flight_max: int = 4
    resend_s: float = 1.0  # doubles with each try
    resend_max_s: float = 30.0
    pace_s: float = 0.25  # between reports that were kept through an outage
    hello_s: float = 1.0  # doubles, too
    hello_max_s: float = 60.0


class ReporterCounters(msgspec.Struct, kw_only=True):
    """Since the reporter was made."""

    made: int = 0  # reports
    sent: int = 0  # reports, repeats included
    acknowledged: int = 0
    dropped: int = 0  # reports, for want of room
    hellos: int = 0
    restarts: int = 0  # with a newer boot, as the hub had it
    refused: int = 0  # TLVs from the hub, or from anybody, that do not hold
