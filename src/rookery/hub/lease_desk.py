"""The lease desk: tells servers which of their seats are allowed, as long as they ask.

    server ─ HOLD, LET_GO, RENEW n ─▶ desk ──▶ sessions, tokens, roles, owners, registry
    server ◀─ RELEASE, RENEWED n ─────┘

All that is held by servers that are connected here is looked up together, every `PASS_S`: whatever
ended an authority, in this process, in another hub or in the database itself, is found the same
way. What cannot be looked up is not renewed.
"""

import asyncio
from collections import Counter
from collections.abc import Callable

import msgspec

from rookery.errors import DecodeError, UnreachableError
from rookery.fleet import authority as authorities
from rookery.fleet.authority import Authority, Bearer, Owned
from rookery.fleet.entry import server_id
from rookery.hub.clock import HubClock
from rookery.runtime.sealed_line import LineLimits, SealedLine
from rookery.store.credentials import Credentials
from rookery.store.database import Database
from rookery.store.devices import Devices
from rookery.store.hot import HotStore
from rookery.wire import fleet_messages as messages
from rookery.wire.fleet_messages import Fault, FaultCode, Hold, LetGo, Release, Renew, Renewed

PASS_S = 0.5
IDLE_S = 60.0  # without a question
HOLDS_MAX = 100_000  # of one server
EXPECTED_S = 86_400.0  # for which a server is, since it came last

Expect = Callable[[str, float], None]  # at the door: an address, and for how long

_LIMITS = LineLimits(unsent_bytes_max=64 << 20)
_MALFORMED = "this hub did not reserve it"


class _Seat(msgspec.Struct, frozen=True):
    hold: Hold
    authority: Authority | None  # None: none that we could have given


class _Visitor:
    """A server that asks, and what it holds."""

    def __init__(self, line: SealedLine, server: str) -> None:
        self.line = line
        self.server = server
        self.seats: dict[str, _Seat] = {}
        self.asked = 0  # the last RENEW, and the last that was answered
        self.answered = 0
        self.is_forgotten = False


class LeaseDesk:
    """`attend` each server that asks; `run` answers them."""

    def __init__(self, database: Database, hot: HotStore, clock: HubClock, expect: Expect) -> None:
        self._credentials = Credentials(database)
        self._devices = Devices(database)
        self._hot = hot
        self._clock = clock
        self._expect = expect
        self._visitors: set[_Visitor] = set()
        self._asked = asyncio.Event()
        self.tally: Counter[str] = Counter()

    @property
    def held(self) -> int:
        """Seats at servers that are connected here."""
        return sum(len(visitor.seats) for visitor in self._visitors)

    async def attend(self, line: SealedLine, first: Hold | Renew) -> Fault | None:
        """A server that has proved who it is; returns when its connection may be closed."""
        assert line.peer is not None
        visitor = _Visitor(line, line.peer)
        if not await self._known([visitor.server]):
            return _forgotten()
        line.trust(_LIMITS)
        self._expect(line.address[0], EXPECTED_S)
        self._visitors.add(visitor)
        try:
            message: messages.Message = first
            while True:
                self._take(visitor, message)
                async with asyncio.timeout(IDLE_S):
                    tlv = await line.receive()
                if tlv is None:
                    return None
                message = messages.decode(tlv)
        finally:
            self._visitors.discard(visitor)

    async def run(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                await self._answer()
            except UnreachableError:  # they ask again, and their leases go on until then
                self.tally["store_away"] += 1
                self._asked.set()
            await asyncio.sleep(PASS_S)

    def _take(self, visitor: _Visitor, message: messages.Message) -> None:
        match message:
            case Hold(seat):
                if len(visitor.seats) >= HOLDS_MAX:
                    raise DecodeError("more seats than a server has")
                visitor.seats[seat] = _Seat(message, _authority(message))
            case LetGo(seat):
                visitor.seats.pop(seat, None)
            case Renew(number):
                visitor.asked = number
                self._asked.set()
            case other:
                raise DecodeError(f"a server does not say {type(other).__name__} to a hub")

    async def _answer(self) -> None:
        """To all who have asked, as of now."""
        asking = [each for each in self._visitors if each.asked != each.answered]
        asked = [each.asked for each in asking]
        seats = [(each, seat) for each in asking for seat in each.seats.values()]
        known = await self._known([each.server for each in asking])
        objections = await self._objections([seat for _, seat in seats])
        for (visitor, seat), objection in zip(seats, objections, strict=True):
            if objection and visitor.seats.pop(seat.hold.seat, None) is not None:
                self.tally["released"] += 1
                visitor.line.send(messages.encode(Release(seat.hold.seat, objection)))
        for visitor, number in zip(asking, asked, strict=True):
            visitor.answered = number
            if visitor.server in known:
                self.tally["renewed"] += 1
                visitor.line.send(messages.encode(Renewed(number)))
            else:
                self.tally["forgotten"] += 1
                visitor.line.send(messages.encode(_forgotten()))
                visitor.line.close()

    async def _known(self, servers: list[str]) -> set[str]:
        """Those that the registry has."""
        found = await self._hot.entries([server_id(server) for server in servers])
        known = {entry.hashname for entry in found if entry is not None and entry.kind == "server"}
        return known.intersection(servers)

    async def _objections(self, seats: list[_Seat]) -> list[str]:
        """Why each is not allowed any more; empty while it is."""
        macs = list({seat.hold.mac for seat in seats})
        hashes = {seat.authority.credential for seat in seats if seat.authority is not None}
        bearers = await self._credentials.bearers(hashes, self._clock.now())
        devices = await self._devices.some(macs)
        entries = dict(zip(macs, await self._hot.entries(macs), strict=True))
        bound = {mac: entry.hashname for mac, entry in entries.items() if entry is not None}
        owned = {mac: Owned(each.owner, each.claimed_at) for mac, each in devices.items()}
        return [_objection(seat, bearers, owned, bound) for seat in seats]


def _objection(
    seat: _Seat, bearers: dict[bytes, Bearer], owned: dict[bytes, Owned], bound: dict[bytes, str]
) -> str:
    if seat.authority is None:
        return _MALFORMED
    mac = seat.hold.mac
    return authorities.objection(
        seat.authority,
        bearers.get(seat.authority.credential),
        owned.get(mac),
        is_bound=bound.get(mac) == seat.hold.router,
    )


def _authority(hold: Hold) -> Authority | None:
    try:
        return authorities.decode(hold.authority)
    except DecodeError:
        return None


def _forgotten() -> Fault:
    return Fault(FaultCode.DENIED, "no server of that name is known here")
