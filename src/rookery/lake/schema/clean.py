"""Clean tables: valid observations, each once, at the time it happened."""

import pyarrow as pa

from rookery.lake.schema import landing
from rookery.lake.schema.table import DATE, Column, Table

CLOCK_WRONG = Column(
    "clock_wrong",
    pa.bool_(),
    "the sender's clock cannot be right, so `at` is received_at",
)
HAPPENED_ON = Column(DATE, pa.date32(), "UTC date of at")


def _clean(raw: Table) -> Table:
    columns = (*raw.columns[:-1], CLOCK_WRONG, HAPPENED_ON)
    return Table("clean", raw.name, columns, raw.key, raw.text, (raw.path,))


DEVICE_REPORTS = _clean(landing.DEVICE_REPORTS)
SERVER_REPORTS = _clean(landing.SERVER_REPORTS)
CALLS = _clean(landing.CALLS)
ENROLMENTS = _clean(landing.ENROLMENTS)
SECURITY_EVENTS = _clean(landing.SECURITY_EVENTS)
LINK_SAMPLES = _clean(landing.LINK_SAMPLES)
RECORD_CHANGES = _clean(landing.RECORD_CHANGES)
DECISIONS = _clean(landing.DECISIONS)
SESSIONS = _clean(landing.SESSIONS)
REQUESTS = _clean(landing.REQUESTS)
MESSAGES = _clean(landing.MESSAGES)

TABLES = (
    DEVICE_REPORTS,
    SERVER_REPORTS,
    CALLS,
    ENROLMENTS,
    SECURITY_EVENTS,
    LINK_SAMPLES,
    RECORD_CHANGES,
    DECISIONS,
    SESSIONS,
    REQUESTS,
    MESSAGES,
)
