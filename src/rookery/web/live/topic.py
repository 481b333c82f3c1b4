"""Topic: something that pages follow live, read now and then while somebody does.

A topic is a mapping of keys to values. Whoever follows it is sent what changed, key by key, so that
a thousand devices of which three changed cost three.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rookery.web.accounts.caller import Caller, Role

if TYPE_CHECKING:
    from rookery.web.site import WebSite

Values = Mapping[str, msgspec.Struct]


class LiveTopic(NamedTuple):
    """What may be followed, by whom, and how to read it."""

    name: str
    role: Role
    read: "Callable[[WebSite, Caller], Awaitable[Values]]"
    is_shared: bool = False  # whether all callers read the same, so that one reading serves all
    every_s: float = 1.0
