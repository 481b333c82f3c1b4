"""Themes and their memory (C7): bounded in names, messages and bytes."""

from collections import Counter

import pytest

from rookery.crow.limits import ThemeLimits
from rookery.crow.pubsub.orders import BrokerClient, DeliveryOptions
from rookery.crow.pubsub.themes import SILENCE_S_MAX, Theme, Themes
from rookery.errors import UsageError

ALICE = BrokerClient(b"alice", 1)
LATER = SILENCE_S_MAX + 1


class Shelf:
    """Themes that are sure to be opened, and what was dropped."""

    def __init__(self, **limits: int) -> None:
        self.dropped: Counter[str] = Counter()
        self.themes = Themes(ThemeLimits(**limits), self.dropped)

    def open(self, name: bytes, now: float = 0.0, *, is_reply: bool = False) -> Theme:
        theme = self.themes.open(name, now, is_reply=is_reply)
        assert theme is not None
        return theme

    def subscribed(self, name: bytes, now: float = 0.0, *, is_reply: bool = False) -> Theme:
        theme = self.open(name, now, is_reply=is_reply)
        theme.audience[ALICE] = DeliveryOptions(0, 0)
        self.themes.settle(theme)
        return theme

    def names(self) -> list[bytes]:
        return [theme.name for theme in self.themes]


def test_the_newest_message_comes_first() -> None:
    shelf = Shelf()
    theme = shelf.open(b"a")
    for message in (b"one", b"two", b"three"):
        shelf.themes.remember(theme, message, 0.0)
    assert list(theme.latest(2)) == [b"three", b"two"]
    assert list(theme.latest(9)) == [b"three", b"two", b"one"]


def test_a_thousand_messages_are_remembered_by_default() -> None:
    shelf = Shelf()
    theme = shelf.open(b"a")
    for number in range(1001):
        shelf.themes.remember(theme, str(number).encode(), 0.0)
    remembered = list(theme.latest(2000))
    assert len(remembered) == 1000
    assert (remembered[0], remembered[-1]) == (b"1000", b"1")


def test_a_theme_can_remember_more_or_less() -> None:
    shelf = Shelf(messages=4, messages_max=10)
    theme = shelf.open(b"a")
    for number in range(4):
        shelf.themes.remember(theme, bytes([number]), 0.0)
    shelf.themes.resize(theme, 2)
    assert list(theme.latest(9)) == [b"\3", b"\2"]
    shelf.themes.resize(theme, 0)
    shelf.themes.remember(theme, b"gone", 0.0)
    assert list(theme.latest(9)) == []
    assert shelf.themes.size == 0
    for size in (-1, 11):
        with pytest.raises(UsageError):
            shelf.themes.resize(theme, size)


def test_the_bytes_of_a_theme_are_bounded() -> None:
    shelf = Shelf(theme_bytes_max=1000)
    theme = shelf.open(b"a")
    for number in range(20):
        shelf.themes.remember(theme, bytes([number]) * 100, 0.0)
    assert theme.size <= 1000
    assert next(theme.latest(1)) == bytes([19]) * 100
    shelf.themes.remember(theme, bytes(1001), 0.0)
    assert list(theme.latest(9)) == []  # it would be a gap to keep those before it


def test_a_full_memory_makes_a_theme_drop_its_own_messages_only() -> None:
    shelf = Shelf(bytes_max=1000)
    first, second = shelf.subscribed(b"first"), shelf.subscribed(b"second")
    for number in range(3):
        shelf.themes.remember(first, bytes([number]) * 100, 0.0)
    for number in range(9):
        shelf.themes.remember(second, bytes([number]) * 100, LATER)
    assert len(list(first.latest(9))) == 3
    assert next(second.latest(1)) == bytes([8]) * 100
    assert shelf.themes.size <= 1000


def test_what_finds_no_room_is_counted() -> None:
    shelf = Shelf(bytes_max=1000)
    first, second = shelf.subscribed(b"first"), shelf.open(b"second")
    shelf.themes.remember(first, bytes(900), 0.0)
    shelf.themes.remember(second, bytes(100), LATER)
    assert list(second.latest(1)) == []
    assert shelf.dropped == {"no room to remember": 1}


def test_messages_without_subscribers_make_room() -> None:
    shelf = Shelf(bytes_max=1000)
    first, second = shelf.open(b"first"), shelf.open(b"second")
    shelf.themes.remember(first, bytes(900), 0.0)
    shelf.themes.remember(second, bytes(100), LATER)
    assert shelf.names() == [b"second"]
    assert shelf.themes.size == second.size


def test_the_longest_silent_name_without_subscribers_makes_room() -> None:
    shelf = Shelf(themes_max=3)
    shelf.subscribed(b"used")
    shelf.open(b"older")
    shelf.open(b"newer")
    shelf.open(b"older", 1.0)
    shelf.open(b"fresh", LATER)
    assert shelf.names() == [b"fresh", b"older", b"used"]


def test_a_name_that_was_used_a_moment_ago_does_not_make_room() -> None:
    """A flood of new names must not push out those of others."""
    shelf = Shelf(themes_max=2)
    shelf.open(b"a")
    shelf.open(b"b")
    assert shelf.themes.open(b"c", SILENCE_S_MAX - 0.1) is None
    assert shelf.dropped == {"no room for a theme": 1}


def test_unused_reply_themes_make_room_at_once() -> None:
    shelf = Shelf(themes_max=2)
    shelf.open(b"a")
    reply = shelf.subscribed(b"reply", is_reply=True)
    assert shelf.themes.open(b"b", 0.0) is None
    reply.audience.clear()
    shelf.themes.settle(reply)
    shelf.open(b"b")
    assert shelf.names() == [b"a", b"b"]


def test_a_served_theme_counts_its_broker_and_stays() -> None:
    shelf = Shelf(themes_max=1)
    shelf.themes.serve(b"control", 0.0)
    assert shelf.open(b"control").subscribers == 1
    assert shelf.themes.open(b"a", 1e6) is None


def test_limits_are_positive() -> None:
    with pytest.raises(UsageError):
        ThemeLimits(themes_max=0)
