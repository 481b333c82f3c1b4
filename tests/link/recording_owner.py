"""A link's stand-in for channels: keeps what they put on the wire and what they say."""

from rookery.link.channel import Channel
from rookery.link.reliable import ChannelMessage
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import Path


class RecordingOwner:
    """Everything a channel or multiplexer can ask of its link."""

    def __init__(self, *, is_lax: bool = False) -> None:
        self.is_lax = is_lax
        self.rtt: float | None = 0.05
        self.path: Path | None = None  # that packets take
        self.answers_apart = False
        self.types = {"stream", "sock"}
        self.sent: list[ChannelMessage] = []
        self.changed: list[Channel] = []
        self.opened: list[Channel] = []
        self.controls: list[tuple[int, ChannelMessage]] = []
        self.answers: list[ChannelMessage] = []
        self.stalled: list[float] = []

    def take(self) -> list[JsonObject]:
        """The heads put on the wire since the last look."""
        heads = [message.head for message in self.sent]
        self.sent.clear()
        return heads

    def transmit(self, head: JsonObject, body: bytes) -> Path | None:
        self.sent.append(ChannelMessage(head, body))
        return self.path

    def answer(self, head: JsonObject) -> None:
        self.transmit(head, b"")

    def channel_changed(self, channel: Channel) -> None:
        self.changed.append(channel)

    def channel_stalled(self, now: float) -> None:
        self.stalled.append(now)

    def serves(self, channel_type: str) -> bool:
        return channel_type in self.types

    def channel_opened(self, channel: Channel) -> None:
        self.opened.append(channel)

    def control(self, channel_id: int, message: ChannelMessage, now: float) -> None:
        self.controls.append((channel_id, message))

    def answered(self, message: ChannelMessage) -> None:
        self.answers.append(message)
