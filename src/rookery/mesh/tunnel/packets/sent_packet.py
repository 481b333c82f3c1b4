"""A packet that was sent and is not acknowledged: what was in it, and when it left."""

from rookery.mesh.tunnel.streams.stream import Stream

Segment = tuple[Stream, int, int, bool]  # from, to, and whether the stream ends there
ControlFrameKey = tuple[int, int]  # kind and stream, see `control_frames`


class SentPacket:
    """Kept by its path until it is acknowledged or lost."""

    __slots__ = (
        "control_frames",
        "delivered",
        "delivered_at",
        "first_sent_at",
        "is_copied",
        "is_limited",
        "is_moved",
        "number",
        "segments",
        "sent_at",
        "size",
    )

    def __init__(
        self,
        number: int,
        size: int,
        sent_at: float,
        segments: list[Segment],
        control_frames: list[ControlFrameKey],
    ) -> None:
        self.number = number
        self.size = size
        self.sent_at = sent_at
        self.segments = segments
        self.control_frames = control_frames
        self.is_copied = False  # once more by another path; still ours to repeat
        self.is_moved = False  # given back to the streams; another path's to repeat
        self.first_sent_at = sent_at
        self.delivered = 0
        self.delivered_at = sent_at
        self.is_limited = False
