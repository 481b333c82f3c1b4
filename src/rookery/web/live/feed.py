"""A feed: the last reading of a topic, its changes, and its followers."""

import asyncio
from collections import deque
from collections.abc import Mapping

import msgspec

from rookery.web.accounts.caller import Caller
from rookery.web.live.topic import LiveTopic, Values

EVENTS_MAX = 64  # that wait for one reader
BYTES_MAX = 4 << 20

_encoder = msgspec.json.Encoder()


class LiveChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event: new values by key, and keys that are gone."""

    changed: Mapping[str, msgspec.Struct]
    gone: list[str]
    first: bool = False  # whether this is everything, whatever was known before


class LiveFollower:
    """One stream, with a bounded buffer of events."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.is_over = False
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._wake = asyncio.Event()

    def put(self, event: bytes) -> None:
        """Buffer an event; a stream whose reader is too slow ends, and may reconnect."""
        if self.is_over:
            return
        is_full = len(self._waiting) >= EVENTS_MAX or self._size + len(event) > BYTES_MAX
        if self._waiting and is_full:
            self._waiting.clear()
            self.end()
            return
        self._waiting.append(event)
        self._size += len(event)
        self._wake.set()

    def end(self) -> None:
        """End the stream after what is buffered."""
        self.is_over = True
        self._wake.set()

    async def next(self, patience_s: float) -> bytes:
        """All buffered events; empty after a timeout or at the end."""
        if not self._waiting and not self.is_over:
            self._wake.clear()
            try:
                async with asyncio.timeout(patience_s):
                    await self._wake.wait()
            except TimeoutError:
                return b""
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        return data


class LiveFeed:
    """A topic of one account, or of all accounts if it is shared."""

    def __init__(self, topic: LiveTopic, caller: Caller) -> None:
        self.topic = topic
        self.caller = caller
        self.followers: set[LiveFollower] = set()
        self.due = 0.0
        self.is_reading = False
        self._values: Values | None = None
        self._problem = ""

    def join(self, follower: LiveFollower) -> None:
        """Add a follower; the last reading is sent at once."""
        self.followers.add(follower)
        if self._values is not None:
            follower.put(self._event(LiveChange(self._values, [], first=True)))

    def read(self, values: Values) -> None:
        """Send followers what a new reading changes."""
        before, self._values, self._problem = self._values, dict(values), ""
        if before is None:
            self._tell(LiveChange(values, [], first=True))
            return
        changed = {key: value for key, value in values.items() if before.get(key) != value}
        gone = [key for key in before if key not in values]
        if changed or gone:
            self._tell(LiveChange(changed, gone))

    def failed(self, detail: str) -> None:
        """Send followers, once, that the topic cannot be read."""
        if detail == self._problem:
            return
        self._problem = detail
        problem = _encoder.encode({"topic": self.topic.name, "detail": detail})
        for follower in list(self.followers):
            follower.put(b"event: problem\ndata: %b\n\n" % problem)

    def _tell(self, change: LiveChange) -> None:
        event = self._event(change)
        for follower in list(self.followers):
            follower.put(event)

    def _event(self, change: LiveChange) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (self.topic.name.encode(), _encoder.encode(change))
