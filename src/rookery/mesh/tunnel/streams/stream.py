"""One stream of a tunnel: two halves and their credit."""

from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow
from rookery.mesh.tunnel.streams.receive_half import ReceiveHalf
from rookery.mesh.tunnel.streams.send_half import SendHalf


class Stream:
    """Ordered bytes in both directions."""

    __slots__ = (
        "deficit",
        "id",
        "is_announced",
        "is_failed",
        "is_ours",
        "is_queued",
        "opening",
        "priority",
        "receiving",
        "sending",
        "stop_code",
        "window",
    )

    def __init__(self, number: int, window: ReceiveWindow, *, is_ours: bool) -> None:
        self.id = number
        self.is_ours = is_ours
        self.opening = b""  # as far as it came
        self.priority = 0
        self.is_announced = is_ours  # the program knows of it
        self.is_failed = False  # the program knows that, too
        self.sending = SendHalf()
        self.receiving = ReceiveHalf()
        self.window = window
        self.stop_code = 0
        self.deficit = 0  # bytes it may send before it is another's turn
        self.is_queued = False

    @property
    def is_over(self) -> bool:
        return self.sending.is_over and self.receiving.is_over

    @property
    def held(self) -> int:
        """Bytes that arrived and were not read."""
        return self.receiving.highest - self.receiving.read_to
