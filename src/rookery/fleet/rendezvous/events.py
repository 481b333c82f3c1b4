"""Events that a rendezvous handles, and the actions that it asks for.

`ReservedMessage`, `RefusedMessage`, `ArrivedMessage` and `AbandonedMessage` are the server's own
messages. Connections of devices are known by numbers that are never used again, those to servers
by the seat.
"""

import msgspec

from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.fleet.rendezvous.wish import WishStep
from rookery.wire.fleet import messages


class DeviceReported(msgspec.Struct, frozen=True):
    """A report of the device has come in, which may be answered by a call."""


class DeviceConnected(msgspec.Struct, frozen=True):
    """The device, proved, has a connection to us."""

    connection: int


class DeviceAsked(msgspec.Struct, frozen=True):
    """The device asks where to go: it was called, or the server has failed it."""

    connection: int


class DeviceLost(msgspec.Struct, frozen=True):
    """The device's connection to us is gone."""

    connection: int


class ServerLost(msgspec.Struct, frozen=True):
    """The connection for this seat is gone, or could not be made."""

    seat: str
    reason: str


class ClientGone(msgspec.Struct, frozen=True):
    """The client has stopped waiting."""


class StepElsewhere(msgspec.Struct, frozen=True):
    """Another hub made this step of the wish; not for steps of our own."""

    step: WishStep


class RendezvousTick(msgspec.Struct, frozen=True):
    """Time has passed."""


RendezvousEvent = (
    DeviceReported | DeviceConnected | DeviceAsked | DeviceLost
    | messages.ReservedMessage | messages.RefusedMessage
    | messages.ArrivedMessage | messages.AbandonedMessage
    | ServerLost | ClientGone | StepElsewhere | RendezvousTick
)  # fmt: skip


class CallDevice(msgspec.Struct, frozen=True):
    """Answer the report with CALL."""

    wish: int


class ReserveSeat(msgspec.Struct, frozen=True):
    """Connect to the server and send it this."""

    server: ServerLoad
    message: messages.ReserveMessage


class ReleaseSeat(msgspec.Struct, frozen=True):
    """Count the reservation as gone; tell the server if there is a connection."""

    server: str
    seat: str


class DirectDevice(msgspec.Struct, frozen=True):
    """Send this to the device."""

    connection: int
    message: messages.DirectMessage


class SayStep(msgspec.Struct, frozen=True):
    """Publish this step of the wish."""

    step: WishStep


class CloseDevice(msgspec.Struct, frozen=True):
    """Send the fault, if there is one, and close once everything is written."""

    connection: int
    fault: messages.FaultMessage | None = None


class CloseServer(msgspec.Struct, frozen=True):
    """Close the connection for this seat once everything is written."""

    seat: str


class EndWish(msgspec.Struct, frozen=True):
    """It is over: forget wish and rendezvous."""


RendezvousAction = (
    CallDevice
    | ReserveSeat
    | ReleaseSeat
    | DirectDevice
    | SayStep
    | CloseDevice
    | CloseServer
    | EndWish
)
