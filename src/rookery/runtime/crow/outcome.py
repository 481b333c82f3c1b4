"""What became of a message."""

from enum import StrEnum

import msgspec


class Status(StrEnum):
    """How far a message is known to have come."""

    SENT = "sent"  # quality of service 0: nobody will tell
    DELIVERED = "delivered"  # the tower at the end of the route has it
    UNDELIVERED = "undelivered"  # nobody has confirmed it; it may have arrived all the same


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The answer to `send`."""

    status: Status
    reason: str = ""  # why it is undelivered

    @property
    def is_delivered(self) -> bool:
        return self.status is Status.DELIVERED


SENT = Outcome(Status.SENT)
DELIVERED = Outcome(Status.DELIVERED)
CLOSED = Outcome(Status.UNDELIVERED, "the tower was closed")
