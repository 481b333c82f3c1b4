"""What became of a message."""

from enum import StrEnum

import msgspec


class DeliveryStatus(StrEnum):
    """How far a message is known to have come."""

    SENT = "sent"  # quality of service 0: nobody will tell
    DELIVERED = "delivered"  # the tower at the end of the route has it
    UNDELIVERED = "undelivered"  # nobody has confirmed it; it may have arrived all the same


class MessageOutcome(msgspec.Struct, frozen=True, gc=False):
    """The answer to `send`."""

    status: DeliveryStatus
    reason: str = ""  # why it is undelivered

    @property
    def is_delivered(self) -> bool:
        return self.status is DeliveryStatus.DELIVERED


SENT = MessageOutcome(DeliveryStatus.SENT)
DELIVERED = MessageOutcome(DeliveryStatus.DELIVERED)
CLOSED = MessageOutcome(DeliveryStatus.UNDELIVERED, "the tower was closed")
