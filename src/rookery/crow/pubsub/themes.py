"""Themes of a broker: the subscribers of a name, and the last messages published to it.

Bounded in messages, bytes and names. Room is made only by forgetting names without
subscribers: reply themes of requests at once, others once they were silent for a while. So no
client can push out a theme that is in use; what finds no room is passed on, but not remembered.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rookery.crow.limits import ThemeLimits
from rookery.crow.pubsub.orders import Audience, BrokerClient
from rookery.errors import UsageError

SILENCE_S_MAX: Final = 20.0  # after this time without a word, a client or a theme may make room

# Overhead of the Python objects, so that bounds mean memory.
_MESSAGE_OVERHEAD: Final = 64


class Theme:
    """One name. Messages are kept as the Consume bodies that they left as."""

    __slots__ = (
        "active_at",
        "audience",
        "is_reply",
        "is_served",
        "messages",
        "messages_max",
        "name",
        "published_at",
        "size",
        "targets",
        "targets_version",
    )

    def __init__(self, name: bytes, messages_max: int, now: float, *, is_reply: bool) -> None:
        self.name = name
        self.audience: Audience = {}
        self.is_reply = is_reply
        self.is_served = False  # by the broker itself
        self.messages: deque[bytes] = deque()  # newest last
        self.messages_max = messages_max
        self.size = 0
        self.active_at = now
        self.published_at: float | None = None
        # The receivers of a message, wildcards included: cached, since they rarely change.
        self.targets: list[tuple[BrokerClient, int, int]] | None = None
        self.targets_version = 0

    @property
    def subscribers(self) -> int:
        return len(self.audience) + self.is_served

    def latest(self, count: int) -> Iterator[bytes]:
        """Up to `count` messages, newest first."""
        return islice(reversed(self.messages), count)


class Themes:
    """Themes by name."""

    def __init__(self, limits: ThemeLimits, dropped: Counter[str]) -> None:
        self.limits = limits
        self.size = 0
        self._dropped = dropped
        self._themes: dict[bytes, Theme] = {}
        # Those without subscribers, the longest silent first.
        self._idle: OrderedDict[bytes, Theme] = OrderedDict()
        self._idle_replies: OrderedDict[bytes, Theme] = OrderedDict()

    def __len__(self) -> int:
        return len(self._themes)

    def __iter__(self) -> Iterator[Theme]:
        """By name, as the C++ broker lists them."""
        return iter([self._themes[name] for name in sorted(self._themes)])

    def find(self, name: bytes) -> Theme | None:
        return self._themes.get(name)

    def open(self, name: bytes, now: float, *, is_reply: bool = False) -> Theme | None:
        """The theme of that name, made if it is new; None if there is no room for it."""
        theme = self._themes.get(name)
        if theme is None:
            if len(self._themes) >= self.limits.themes_max and not self._forget_one(now):
                self._dropped["no room for a theme"] += 1
                return None
            theme = Theme(name, self.limits.messages, now, is_reply=is_reply)
            self._themes[name] = theme
        theme.active_at = now
        if not theme.audience:
            self.settle(theme)
        return theme

    def serve(self, name: bytes, now: float) -> None:
        """The broker itself subscribes to this one, for good."""
        theme = self.open(name, now)
        assert theme is not None, "the first theme has room"
        theme.is_served = True
        self.settle(theme)

    def settle(self, theme: Theme) -> None:
        """Say after a change of its subscribers: whether it may be forgotten."""
        idle = self._idle_replies if theme.is_reply else self._idle
        if theme.subscribers:
            idle.pop(theme.name, None)
        else:
            idle[theme.name] = theme
            idle.move_to_end(theme.name)

    def remember(self, theme: Theme, message: bytes, now: float) -> None:
        """Keep a message; the theme's own oldest make room for it first."""
        theme.published_at = now
        messages, size = theme.messages, _size(message)
        while messages and (
            len(messages) >= theme.messages_max or theme.size + size > self.limits.theme_bytes_max
        ):
            self._drop_oldest(theme)
        if not theme.messages_max or size > self.limits.theme_bytes_max:
            return
        while self.size + size > self.limits.bytes_max:
            if messages:
                self._drop_oldest(theme)
            elif not self._forget_one(now, spare=theme):
                self._dropped["no room to remember"] += 1
                return
        messages.append(message)
        theme.size += size
        self.size += size

    def resize(self, theme: Theme, messages_max: int) -> None:
        """Remember so many messages of this theme from now on; UsageError beyond the bound."""
        if not 0 <= messages_max <= self.limits.messages_max:
            raise UsageError(f"a theme remembers 0 to {self.limits.messages_max} messages")
        theme.messages_max = messages_max
        while len(theme.messages) > messages_max:
            self._drop_oldest(theme)

    def _drop_oldest(self, theme: Theme) -> None:
        size = _size(theme.messages.popleft())
        theme.size -= size
        self.size -= size

    def _forget_one(self, now: float, spare: Theme | None = None) -> bool:
        """Forget one unused name; False if there is none."""
        for idle, silence_s in ((self._idle_replies, 0.0), (self._idle, SILENCE_S_MAX)):
            theme = next(iter(idle.values()), None)
            if theme is None or theme is spare:
                continue
            if now - theme.active_at >= silence_s:
                del idle[theme.name], self._themes[theme.name]
                self.size -= theme.size
                return True
        return False


def _size(message: bytes) -> int:
    return len(message) + _MESSAGE_OVERHEAD
