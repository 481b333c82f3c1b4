"""The hub's HTTP API as a client uses it: sign in, devices, codes, connect, alerts."""

from collections.abc import AsyncIterator
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote

import msgspec

from rookery.client.http import HttpClient
from rookery.client.trust import SYSTEM, Trust
from rookery.errors import ProtocolError, UnreachableError
from rookery.fleet.rendezvous.wish import WishStep
from rookery.wire.fleet.mac import mac_text

API = "/api/v1"
SCOPES = ("read", "connect", "write")
CONNECT_S = 200.0  # between two words of the hub while it connects us

_STEP = msgspec.json.Decoder(WishStep)


class HubAccount(msgspec.Struct, frozen=True):
    """The account that this client is signed in as."""

    login: str
    role: str = "user"


class HubToken(msgspec.Struct, frozen=True):
    """A token that was just made."""

    id: int
    token: str
    expires_at: float | None = None

    def __repr__(self) -> str:
        return f"HubToken({self.id})"


class HubDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device of ours."""

    mac: str
    name: str = ""
    state: str = ""
    last_seen: float | None = None
    first_seen: float | None = None
    claimed_at: float = 0.0
    hashname: str = ""
    address: str = ""


class HubEnrolmentCode(msgspec.Struct, frozen=True, kw_only=True):
    """A code that one new device may enrol with, and the command that does it."""

    id: str
    kind: str
    code: str
    expires_at: float
    command: str

    def __repr__(self) -> str:
        return f"HubEnrolmentCode({self.id!r})"


class HubAlert(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is the matter with the fleet, or was."""

    id: int
    kind: str
    severity: str
    title: str
    since: float
    until: float | None = None
    cause: str = ""
    note: str = ""
    entities: list[str] = []
    acknowledged_by: str = ""
    muted_until: float | None = None


class HubAlertEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to an alert."""

    at: float
    what: str
    who: str = ""
    text: str = ""


class HubAlertHistory(msgspec.Struct, frozen=True):
    """An alert with all of that, the oldest first."""

    alert: HubAlert
    events: list[HubAlertEvent]


class HubApi:
    """One hub, as the holder of a token or, after `sign_in`, by a session."""

    def __init__(self, url: str, token: str = "", trust: Trust = SYSTEM) -> None:
        self._http = HttpClient(url, trust=trust)
        if token:
            self._http.headers["Authorization"] = f"Bearer {token}"

    @property
    def url(self) -> str:
        return self._http.url

    async def register(self, login: str, password: str) -> HubAccount:
        """Make an account."""
        body = {"login": login, "password": password}
        me, _ = await self._http.ask("POST", f"{API}/accounts", HubAccount, body)
        return me

    async def sign_in(self, login: str, password: str, code: str = "") -> HubAccount:
        """Begin a session, which lasts as long as this object; a code for a second factor."""
        body = {"login": login, "password": password}
        if code:  # hubs without second factors take no such field
            body["code"] = code
        me, response = await self._http.ask("POST", f"{API}/session", HubAccount, body)
        try:
            cookies = SimpleCookie(", ".join(response.headers.get_all("Set-Cookie") or []))
        except CookieError as error:
            raise ProtocolError("the hub's session is none") from error
        pairs = "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())
        self._http.headers["Cookie"] = pairs
        self._http.headers["Origin"] = self.url  # as a browser would say of its own page
        return me

    async def sign_out(self) -> None:
        """End the session."""
        await self._http.ask("DELETE", f"{API}/session", type(None))

    async def make_token(self, name: str) -> HubToken:
        """A token for this program; needs a session."""
        body = {"name": name, "scopes": SCOPES}
        token, _ = await self._http.ask("POST", f"{API}/tokens", HubToken, body)
        return token

    async def revoke_own_token(self) -> None:
        """Make the token that we come with worthless."""
        await self._http.ask("DELETE", f"{API}/token", type(None))

    async def me(self) -> HubAccount:
        me, _ = await self._http.ask("GET", f"{API}/me", HubAccount)
        return me

    async def devices(self) -> list[HubDevice]:
        """All of ours."""
        devices, _ = await self._http.ask("GET", f"{API}/devices", list[HubDevice])
        return devices

    async def claim(self, mac: bytes, code: str, name: str = "") -> HubDevice:
        """Make a device ours by the code that its agent shows."""
        body = {"mac": mac_text(mac), "code": code, "name": name}
        device, _ = await self._http.ask("POST", f"{API}/devices/claim", HubDevice, body)
        return device

    async def add_code(self) -> HubEnrolmentCode:
        """A code for one new device of ours."""
        code, _ = await self._http.ask("POST", f"{API}/codes", HubEnrolmentCode, {"kind": "router"})
        return code

    async def alerts(self, *, is_all: bool = False) -> list[HubAlert]:
        """What is the matter, or also what was, the newest first; operators only."""
        path = f"{API}/alerts?which={'all' if is_all else 'open'}"
        alerts, _ = await self._http.ask("GET", path, list[HubAlert])
        return alerts

    async def alert(self, number: int) -> HubAlertHistory:
        """One, with what happened to it."""
        story, _ = await self._http.ask("GET", f"{API}/alerts/{number}", HubAlertHistory)
        return story

    async def acknowledge(self, number: int) -> HubAlert:
        """Say that we see to it."""
        path = f"{API}/alerts/{number}/acknowledge"
        alert, _ = await self._http.ask("POST", path, HubAlert)
        return alert

    async def mute(self, number: int, seconds: float) -> HubAlert:
        """Mute notifications for so long; 0 unmutes."""
        body = {"seconds": seconds}
        alert, _ = await self._http.ask("POST", f"{API}/alerts/{number}/mute", HubAlert, body)
        return alert

    async def connect(self, mac: bytes) -> AsyncIterator[WishStep]:
        """The steps to a device as they happen; the last is `done`, or UnreachableError."""
        path = f"{API}/devices/{quote(mac_text(mac))}/connect"
        async for data in self._http.events("POST", path, CONNECT_S):
            try:
                step = _STEP.decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ProtocolError(f"the hub tells a step we do not know: {error}") from error
            yield step
            if step.name == "failed":
                raise UnreachableError(step.text)
            if step.name == "done":
                return
        raise UnreachableError("the hub has ended the connection before it was done; try again")
