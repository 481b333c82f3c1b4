"""Live topics: what pages can follow, read at intervals while there are followers.

A topic is a mapping. Followers are sent changed keys only: of a thousand devices, the three that
changed.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rookery.web.accounts.caller import Caller, Role

if TYPE_CHECKING:
    from rookery.web.site import WebSite

Values = Mapping[str, msgspec.Struct]


class LiveTopic(NamedTuple):
    """A topic: its name, the least role, and how to read it."""

    name: str
    role: Role
    read: "Callable[[WebSite, Caller], Awaitable[Values]]"
    is_shared: bool = False  # whether all callers read the same, so that one reading serves all
    every_s: float = 1.0
