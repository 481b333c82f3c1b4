"""Keeps messages for absent peers: the serving side of `box`, over a bounded store in memory.

The state of a box is never revealed: a message for which there is no room is accepted like any
other and dropped, and an unknown box looks empty.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from rookery.link.channels.box import (
    BoxMessageArrived,
    ClearBox,
    Command,
    CommandReader,
    ForgetBoxMessage,
    InboxOpening,
    OutboxOpening,
    box_id,
    parse_boxes,
    pieces,
    serialize_boxes,
)
from rookery.link.channels.box_store import BoxStore
from rookery.runtime.endpoint.channels.interface import (
    ChannelInterface,
    ChannelOpener,
    send_message,
)
from rookery.wire.link.lob import JsonObject

Allow = Callable[[str, str], bool]  # (sender, recipient)
OnBoxes = Callable[[str, list[bytes]], Awaitable[None]]  # (keeper, ids of boxes to fetch)

ANNOUNCEMENT_S = 5.0
BOXES_MAX = 1 << 14


def allow_links(sender: str, recipient: str) -> bool:
    """The default: allow every peer with a link, so every peer that can send a request."""
    return True


class BoxKeeper:
    """Serves `outbox`, `inbox` and `boxes`; set `on_boxes` to be notified by other keepers."""

    def __init__(
        self,
        store: BoxStore | None = None,
        *,
        allow: Allow = allow_links,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.on_boxes: OnBoxes | None = None
        self.store = store or BoxStore()
        self._allow = allow
        self._now = clock

    async def handle_outbox(self, channel: ChannelInterface) -> None:
        """Take messages from a sender."""
        sender, to = channel.link.hashname, OutboxOpening.parse(channel.opening[0]).to
        box = box_id(sender, to)
        reader = CommandReader(self.store.limits.message_size_max)
        message: tuple[JsonObject, bytes] | None = channel.opening
        while message is not None:
            for command in reader.feed(*message):
                if isinstance(command, BoxMessageArrived):
                    if self._allow(sender, to):
                        self.store.put(sender, to, command.message, command.lifetime_s, self._now())
                else:
                    self._forget(to, box, command)
            message = await channel.receive()

    async def handle_inbox(self, channel: ChannelInterface) -> None:
        """Send a recipient the messages of one box, and delete those it has processed."""
        recipient, box = channel.link.hashname, InboxOpening.parse(channel.opening[0]).box
        reader = CommandReader(self.store.limits.message_size_max)
        for command in reader.feed(channel.opening[0], b""):
            self._forget(recipient, box, command)
        # It may delete the first before it has the last: the two directions are independent.
        delivery = asyncio.get_running_loop().create_task(self._deliver(channel, box))
        try:
            while (packet := await channel.receive()) is not None:
                for command in reader.feed(packet[0], b""):
                    self._forget(recipient, box, command)
            await delivery
        finally:
            delivery.cancel()
            await asyncio.wait([delivery])

    async def _deliver(self, channel: ChannelInterface, box: bytes) -> None:
        recipient = channel.link.hashname
        for message in self.store.messages(recipient, box, self._now()):
            parts = pieces(message, channel.fragment_size)
            await send_message(channel, ((piece.head, piece.body) for piece in parts))
        await channel.send({"cap": self.store.room(recipient)})

    async def handle_boxes(self, channel: ChannelInterface) -> None:
        """List the peer's boxes; or, if it sends a list, receive what it keeps for us."""
        if channel.opening[1]:
            await self._receive_announcement(channel)
            return
        for body in serialize_boxes(self.store.boxes(channel.link.hashname, self._now())):
            await channel.send({}, body)

    async def _receive_announcement(self, channel: ChannelInterface) -> None:
        boxes = parse_boxes(channel.opening[1])
        try:
            async with asyncio.timeout(ANNOUNCEMENT_S):  # unreliable: the rest may be lost
                while (message := await channel.receive()) is not None:
                    if len(boxes) < BOXES_MAX:
                        boxes += parse_boxes(message[1])
        except TimeoutError:
            pass
        if self.on_boxes is not None:
            await self.on_boxes(channel.link.hashname, boxes)

    async def announce(self, link: ChannelOpener, hashname: str) -> bool:
        """Announce to a peer that came online what is kept for it; True if anything is."""
        boxes = self.store.boxes(hashname, self._now())
        if not boxes:
            return False
        first, *more = serialize_boxes(boxes)
        channel = link.open("boxes", {}, first, reliable=False, end=not more)
        for number, body in enumerate(more, 1):
            await channel.send({}, body, end=number == len(more))
        return True

    def _forget(self, recipient: str, box: bytes, command: Command) -> None:
        match command:
            case ForgetBoxMessage(id_):
                self.store.forget(recipient, box, id_, self._now())
            case ClearBox():
                self.store.clear(recipient, box)
            case BoxMessageArrived():
                return  # an inbox takes no messages
