"""What the link core tells its shell. Facts are past tense; `Transmit` and `HangUp` are orders."""

from typing import TYPE_CHECKING

import msgspec

from rookery.wire.link.path import Path
from rookery.wire.octets import Octets

if TYPE_CHECKING:
    from rookery.link.channel import Channel
    from rookery.link.link import Link
    from rookery.link.session.handshake import Stranger


class Transmit(msgspec.Struct, frozen=True, gc=False):
    """Send these bytes over this path."""

    path: Path
    data: Octets


class HangUp(msgspec.Struct, frozen=True):
    """End the connection that this path is, if there is one; a `PathLost` follows as usual."""

    path: Path


class LinkUp(msgspec.Struct, frozen=True):
    """A handshake was received and sent; channels may open."""

    link: "Link"


class LinkDown(msgspec.Struct, frozen=True):
    """The peer restarted, fell silent, or its last path is gone."""

    link: "Link"
    reason: str


class PathFound(msgspec.Struct, frozen=True):
    """A path has proved itself, for the first time or after it was lost."""

    link: "Link"
    path: Path


class PathLost(msgspec.Struct, frozen=True):
    """A connection ended, or could not be made; the link may go on over others."""

    link: "Link"
    path: Path


class LinkForgotten(msgspec.Struct, frozen=True):
    """The endpoint has dropped all it knew of a link."""

    link: "Link"


class Discovered(msgspec.Struct, frozen=True):
    """An unknown endpoint wants a link; nothing has been answered."""

    stranger: "Stranger"


class ChannelOpened(msgspec.Struct, frozen=True):
    """The peer opened a channel."""

    link: "Link"
    channel: "Channel"


class ChannelChanged(msgspec.Struct, frozen=True):
    """There is something to read, room to write, or the channel is closed."""

    channel: "Channel"


Event = (
    Transmit
    | HangUp
    | LinkUp
    | LinkDown
    | PathFound
    | PathLost
    | LinkForgotten
    | Discovered
    | ChannelOpened
    | ChannelChanged
)
