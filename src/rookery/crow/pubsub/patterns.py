"""Wildcard subscriptions, an extension of ours: which patterns does a theme match?

    sensors/+/temperature    `+` stands for exactly one level
    sensors/#                `#`, only at the end, for any levels below, and for `sensors` itself

A theme is a pattern only where `+` or `#` is a whole level; `a+b` or `c#` are plain names, as they
are to the C++ broker. Publishing is always to a plain name.
"""

from collections.abc import Iterator

from rookery.crow.pubsub.orders import Audience

LEVELS_MAX = 16  # bounds what one pattern costs to keep and to match

_ONE = b"+"
_REST = b"#"


def is_pattern(theme: bytes) -> bool:
    """Whether a subscription to `theme` means more than that very name."""
    if _ONE not in theme and _REST not in theme:
        return False
    levels = theme.split(b"/")
    return _REST not in levels[:-1] and (levels[-1] == _REST or _ONE in levels)


def matches(pattern: bytes, theme: bytes) -> bool:
    """Whether `theme` is among those that `pattern`, or a plain name, stands for."""
    if pattern == theme:
        return True
    if not is_pattern(pattern):
        return False
    wanted, levels = pattern.split(b"/"), theme.split(b"/")
    if wanted[-1] == _REST:
        wanted.pop()
        levels = levels[: len(wanted)]
    return len(wanted) == len(levels) and all(
        want in (_ONE, level) for want, level in zip(wanted, levels, strict=True)
    )


class _PatternLevel:
    """One level of the tree of patterns; `audience` only where a pattern ends."""

    __slots__ = ("audience", "below")

    def __init__(self) -> None:
        self.audience: Audience | None = None
        self.below: dict[bytes, _PatternLevel] = {}


class Patterns:
    """All patterns with subscribers, as a tree, so that a theme is compared with few of them."""

    def __init__(self) -> None:
        self.version = 0  # grows with every change, so that others may cache what matched
        self._root = _PatternLevel()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def audience(self, pattern: bytes) -> Audience | None:
        """The subscribers of exactly this pattern."""
        level: _PatternLevel | None = self._root
        for name in pattern.split(b"/"):
            if level is None:
                return None
            level = level.below.get(name)
        return None if level is None else level.audience

    def open(self, pattern: bytes) -> Audience:
        """The same, created empty if there is none: the caller adds a subscriber."""
        level = self._root
        for name in pattern.split(b"/"):
            level = level.below.setdefault(name, _PatternLevel())
        if level.audience is None:
            level.audience = {}
            self._count += 1
        return level.audience

    def close(self, pattern: bytes) -> None:
        """Remove a pattern without subscribers, and the levels that only it used."""
        names = pattern.split(b"/")
        path = [self._root]
        for name in names:
            path.append(path[-1].below[name])
        assert not path[-1].audience
        path[-1].audience = None
        self._count -= 1
        while names and not path[-1].below and path[-1].audience is None:
            path.pop()
            del path[-1].below[names.pop()]

    def matching(self, theme: bytes) -> Iterator[Audience]:
        """The audience of every pattern that stands for `theme`, each once."""
        if not self._count:
            return
        levels = [self._root]
        for name in theme.split(b"/"):
            yield from _rests(levels)
            # A published theme may itself be called `+` or `#`: those are no second match.
            names = [_ONE] if name in (_ONE, _REST) else [name, _ONE]
            levels = [
                level.below[name] for level in levels for name in names if name in level.below
            ]
        for level in levels:
            if level.audience is not None:
                yield level.audience
        yield from _rests(levels)


def _rests(levels: list[_PatternLevel]) -> Iterator[Audience]:
    for level in levels:
        rest = level.below.get(_REST)
        if rest is not None:
            assert rest.audience is not None
            yield rest.audience
