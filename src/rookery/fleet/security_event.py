"""Security event: something that an honest, healthy reporter does not do."""

from typing import Literal

import msgspec

EventKind = Literal[
    "forged",  # a proof that does not hold
    "old secret",  # proved with a secret older than one it had proved before
    "replay",  # a report that came before, now from another address, or much too late
    "clone",  # two lineages of one reporter, taking turns
    "foreign key",  # a known id with another key
    "rebound",  # an id that nobody owned went to another key, by an owner's code
    "denied",  # enrolment without a code that admits it
]


class SecurityEvent(msgspec.Struct, frozen=True):
    """For the log, the metrics and the lake."""

    kind: EventKind
    reporter: bytes
    address: str
    detail: str = ""
