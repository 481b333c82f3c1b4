"""Reach: how a node gets to a member."""

from enum import Enum


class Reach(Enum):
    """How a member is reached from here."""

    SELF = "self"
    DIRECT = "direct"  # an address of its own
    RELAY = "relay"  # through a router that knows both ends
    ROUTE = "route"  # over other members
    NONE = "none"
