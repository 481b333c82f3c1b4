"""What a neighbour needs of its link, and no more."""

from collections.abc import Iterable
from typing import Protocol

from rookery.wire.link.path import Path
from rookery.wire.octets import Parts


class PathView(Protocol):
    """One path, as the link knows it."""

    @property
    def path(self) -> Path: ...

    @property
    def is_usable(self) -> bool: ...

    @property
    def is_stream(self) -> bool: ...

    @property
    def is_direct(self) -> bool:
        """Whether it passes no other endpoint."""
        ...

    @property
    def monitored(self) -> bool:
        """Whether a monitor, and not the link, proves and distrusts it."""
        ...

    @property
    def dialled(self) -> bool:
        """Whether this side made the connection, so that the path is where the peer listens."""
        ...


class LinkInterface(Protocol):
    """A link, as far as its neighbour goes."""

    channel_packets: int  # both ways

    @property
    def paths(self) -> Iterable[PathView]: ...

    def send_frame(self, head: bytes, body: bytes, path: Path | None = None) -> None:
        """Over this very path, or the best for the size; nothing when the link is down."""
        ...

    def send_parts(self, head: bytes, parts: Parts, path: Path | None = None) -> None:
        """The same for a body that is not in one piece yet."""
        ...

    def measured(self, path: Path, rtt_s: float) -> None: ...

    def monitor(self, path: Path, now: float) -> None:
        """Add the path, unproven; from now on the caller proves and distrusts it."""
        ...

    def prove(self, path: Path, rtt_s: float) -> None: ...

    def distrust(self, path: Path) -> None: ...

    def hang_up(self, path: Path) -> None:
        """End the connection of this path; its loss is reported like any other."""
        ...

    def unmonitor(self, path: Path) -> None:
        """Forget the path."""
        ...
