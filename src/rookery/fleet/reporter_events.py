"""What a reporter's shell hears of it."""

from typing import Literal

import msgspec


class Called(msgspec.Struct, frozen=True):
    """Connect to the hub over TCP and ask for that wish. May come again for the same wish."""

    wish: int


class Enrolled(msgspec.Struct, frozen=True):
    """The hub has acknowledged a report after a hello: it knows us."""

    claim_code: str


class Renewed(msgspec.Struct, frozen=True):
    """There is a new secret, so the state is worth keeping, and the claim code is another."""

    claim_code: str
    hub_ms: int  # the hub's wall clock, for devices without one


class Refused(msgspec.Struct, frozen=True):
    """A hello was turned down; it is tried again, ever more rarely."""

    reason: Literal["denied", "busy"]


class Restarted(msgspec.Struct, frozen=True):
    """The hub knew a newer boot of us: this clock was behind, or there is a clone."""

    boot: int


ReporterEvent = Called | Enrolled | Renewed | Refused | Restarted
