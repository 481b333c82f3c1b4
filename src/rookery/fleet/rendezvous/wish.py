"""A client's wish for a device, its steps until it succeeds or fails, and the text of each step."""

from typing import Literal

import msgspec

WishStepName = Literal[
    "wished", "called", "router_here", "reserving", "directed", "arrived", "done", "failed"
]
LAST_STEPS: frozenset[WishStepName] = frozenset({"done", "failed"})


class Wish(msgspec.Struct, frozen=True):
    """A client wants a session with a device."""

    id: int  # 64 random bits
    mac: bytes
    client: str  # name of the account
    made_at: float  # wall seconds
    hub: str  # hashname of the hub that took it
    authority: bytes = b""  # by which the client may; see `authority`
    expected: tuple[str, ...] = ()  # IP addresses that device and client come from

    def __repr__(self) -> str:
        return f"Wish(id={self.id}, client={self.client!r})"


class Grant(msgspec.Struct, frozen=True):
    """What a client needs to meet its device: bearer, single use, for some seconds."""

    seat: str
    ticket: str
    server: str  # hashname
    tcp: str  # "ip:port"
    ws: str  # URL
    key2a: bytes
    digest40: bytes  # intermediate of the server's cipher set 40
    seconds: int
    mac: str  # with colons, as people write it
    key40: bytes = b""  # of the server; empty where its sealed streams take 2a alone

    def __repr__(self) -> str:
        return f"Grant(seat={self.seat!r}, server={self.server!r})"


class WishStep(msgspec.Struct, frozen=True):
    """One observable step; `text` is for people and says what comes next."""

    wish: int
    name: WishStepName
    text: str
    at: float  # wall seconds
    server: str = ""  # hashname, once one is chosen
    reason: str = ""  # why this server, or why it failed
    grant: Grant | None = None  # with `done`

    @property
    def is_last(self) -> bool:
        """True for the last step of a wish."""
        return self.name in LAST_STEPS


WISHED = "The hub calls the device as soon as it reports, which takes 20 seconds at most."
CALLED = "The device has been called and is about to connect to the hub."
DEVICE_HERE = "The device is here, and a server is being chosen for you both."
CALLED_BACK = "The connection to the device was lost, so it is being called again."
CANCELLED = "The wish was taken back."

NO_REPORT = "The device has not reported; check its power and its network, then try again."
NO_CONNECTION = (
    "The device was called but did not connect; check that its network lets it reach the hub by"
    " TCP, then try again."
)
HUB_SILENT = "The hub that was looking after this wish has gone silent; try again."
NO_SERVER = "No server has a free seat; try again in a minute, or ask the operator for another one."
NO_WISH = "no client waits for this device any more"


def reserving(server: str) -> str:
    return f"Server {_short(server)} is being asked for a seat."


def reserving_instead(server: str, failed: str) -> str:
    return f"Server {_short(failed)} could not take you, so {_short(server)} is being asked."


def directed(server: str) -> str:
    return f"Server {_short(server)} keeps a seat, and the device is on its way there."


def called_back(server: str) -> str:
    return f"The session at server {_short(server)} failed, so the device is being called again."


def arrived(server: str) -> str:
    return f"The device has arrived at server {_short(server)}."


def done(server: str, seconds: int) -> str:
    return f"Your device waits at server {_short(server)}: connect within {seconds} seconds."


def out_of_servers(attempts: int) -> str:
    tries = "one try" if attempts == 1 else f"{attempts} tries"
    return f"The device did not get to a server in {tries}; try again in a minute."


def _short(hashname: str) -> str:
    return hashname[:8]
