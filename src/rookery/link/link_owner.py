"""Site: what a link needs of the endpoint it belongs to."""

from typing import TYPE_CHECKING, Protocol

from rookery.identity.cipher_set import RandomBytes
from rookery.identity.identity import Identity
from rookery.link.events import Event
from rookery.link.reliable import ChannelMessage
from rookery.wire.link.path import Arrival, Path
from rookery.wire.octets import Octets

if TYPE_CHECKING:
    from rookery.link.link import Link


class LinkOwner(Protocol):
    """The endpoint, as its links see it."""

    identity: Identity
    random: RandomBytes

    def wall(self, now: float) -> int:
        """Unix seconds."""
        ...

    def emit(self, event: Event) -> None: ...

    def send(self, link: "Link", path: Path, data: Octets) -> None: ...

    def serves(self, link: "Link", channel_type: str) -> bool: ...

    def control(
        self, link: "Link", channel_id: int, message: ChannelMessage, now: float
    ) -> None: ...

    def answered(self, link: "Link", message: ChannelMessage) -> None: ...

    def touch(self, link: "Link") -> None:
        """The link may have something to send, or be due earlier than before."""
        ...

    def token_changed(self, link: "Link", before: bytes | None) -> None:
        """Packets for the link have the token of its exchange, and no more the one before."""
        ...

    def unresolved(self, link: "Link") -> None:
        """A link has no key or no path: ask routers for an introduction."""
        ...

    def takes_handshakes(self, path: Path) -> bool:
        """Whether links are made over such paths here."""
        ...

    def frame_received(
        self,
        link: "Link",
        path: Path,
        head: bytes,
        body: bytes | memoryview,
        now: float,
        arrival: Arrival | None,
    ) -> None: ...

    def path_forgotten(self, link: "Link", path: Path) -> None: ...

    def link_rose(self, link: "Link", now: float) -> None: ...

    def link_fell(self, link: "Link", now: float) -> None: ...
