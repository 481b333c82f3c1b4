"""A client's wish for a router, and the steps by which it comes true or fails."""

from typing import Literal

import msgspec

StepName = Literal[
    "wished", "called", "router_here", "reserving", "directed", "arrived", "done", "failed"
]
LAST_STEPS: frozenset[StepName] = frozenset({"done", "failed"})


class Wish(msgspec.Struct, frozen=True):
    """Somebody wants to control a router."""

    id: int  # 64 random bits
    mac: bytes
    client: str  # name of the account
    made_at: float  # wall seconds
    hub: str  # hashname of the hub that took it
    authority: bytes = b""  # by which the client may; see `authority`
    expected: tuple[str, ...] = ()  # IP addresses that router and client come from

    def __repr__(self) -> str:
        return f"Wish(id={self.id}, client={self.client!r})"


class Grant(msgspec.Struct, frozen=True):
    """What a client needs to meet its router: bearer, single use, for some seconds."""

    seat: str
    ticket: str
    server: str  # hashname
    tcp: str  # "ip:port"
    ws: str  # URL
    key2a: bytes
    digest40: bytes  # intermediate of the server's cipher set 40
    seconds: int
    mac: str  # with colons, as people write it

    def __repr__(self) -> str:
        return f"Grant(seat={self.seat!r}, server={self.server!r})"


class Step(msgspec.Struct, frozen=True):
    """One observable thing on the way; `text` is for people and says what comes next."""

    wish: int
    name: StepName
    text: str
    at: float  # wall seconds
    server: str = ""  # hashname, once one is chosen
    reason: str = ""  # why this server, or why it failed
    grant: Grant | None = None  # with `done`

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        return self.name in LAST_STEPS
