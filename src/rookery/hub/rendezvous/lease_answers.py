"""Lease service: tells connected servers which of their seats are still allowed.

    server ─ HOLD, LET_GO, RENEW n ─▶ hub ──▶ sessions, tokens, roles, owners, registry
    server ◀─ RELEASE, RENEWED n ─────┘

All seats of connected servers are looked up together, every `PASS_S`. So an authority that ended is
found in the same way whether it ended in this process, in another hub or in the database. Seats
that cannot be looked up are not renewed.
"""

import asyncio
from collections import Counter
from collections.abc import Callable

import msgspec

from rookery.errors import DecodeError, UnreachableError
from rookery.fleet.entry import server_id
from rookery.fleet.rendezvous import seat_authority as authorities
from rookery.fleet.rendezvous.seat_authority import CredentialBearer, DeviceOwner, SeatAuthority
from rookery.hub.clock import HubClock
from rookery.hub.rendezvous.server_list import check_sealing
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.store.accounts.credentials import AccountCredentials
from rookery.store.database.database import Database
from rookery.store.fleet.devices import Devices
from rookery.store.hot.hot_store import HotStore
from rookery.wire.fleet import messages
from rookery.wire.fleet.messages import (
    FaultCode,
    FaultMessage,
    HoldMessage,
    LetGoMessage,
    ReleaseMessage,
    RenewedMessage,
    RenewMessage,
)

PASS_S = 0.5
IDLE_S = 60.0  # without a question
HOLDS_MAX = 100_000  # of one server
EXPECTED_S = 86_400.0  # how long a server is expected after its last connection

Expect = Callable[[str, float], None]  # the listener expects an address, for so many seconds

_LIMITS = SealedConnectionLimits(unsent_bytes_max=64 << 20)
_MALFORMED = "this hub did not reserve it"


class _LeasedSeat(msgspec.Struct, frozen=True):
    hold: HoldMessage
    authority: SeatAuthority | None  # None: none that we could have given


class _LeasingServer:
    """A connected server and its seats."""

    def __init__(self, connection: SealedConnection, hashname: str) -> None:
        self.connection = connection
        self.hashname = hashname
        self.seats: dict[str, _LeasedSeat] = {}
        self.requested = 0  # the last RENEW, and the last that was answered
        self.answered = 0
        self.is_forgotten = False


class LeaseService:
    """`serve` each server that asks; `run` answers them."""

    def __init__(self, database: Database, hot: HotStore, clock: HubClock, expect: Expect) -> None:
        self._credentials = AccountCredentials(database)
        self._devices = Devices(database)
        self._hot = hot
        self._clock = clock
        self._expect = expect
        self._servers: set[_LeasingServer] = set()
        self._has_requests = asyncio.Event()
        self.tally: Counter[str] = Counter()

    @property
    def held(self) -> int:
        """Seats at servers that are connected here."""
        return sum(len(server.seats) for server in self._servers)

    async def serve(
        self, connection: SealedConnection, first: HoldMessage | RenewMessage
    ) -> FaultMessage | None:
        """Serve an authenticated server; returns when its connection may be closed."""
        assert connection.peer is not None
        server = _LeasingServer(connection, connection.peer)
        if not await self._known([server.hashname]):
            return _forgotten()
        (entry,) = await self._hot.entries([server_id(server.hashname)])
        if entry is not None:
            check_sealing(entry, connection.csid)
        connection.trust(_LIMITS)
        self._expect(connection.address[0], EXPECTED_S)
        self._servers.add(server)
        try:
            message: messages.Message = first
            while True:
                self._take(server, message)
                async with asyncio.timeout(IDLE_S):
                    tlv = await connection.receive()
                if tlv is None:
                    return None
                message = messages.decode(tlv)
        finally:
            self._servers.discard(server)

    async def run(self) -> None:
        while True:
            await self._has_requests.wait()
            self._has_requests.clear()
            try:
                await self._answer()
            except UnreachableError:  # they ask again, and their leases go on until then
                self.tally["store_away"] += 1
                self._has_requests.set()
            await asyncio.sleep(PASS_S)

    def _take(self, server: _LeasingServer, message: messages.Message) -> None:
        match message:
            case HoldMessage(seat):
                if len(server.seats) >= HOLDS_MAX:
                    raise DecodeError("more seats than a server has")
                server.seats[seat] = _LeasedSeat(message, _authority(message))
            case LetGoMessage(seat):
                server.seats.pop(seat, None)
            case RenewMessage(number):
                server.requested = number
                self._has_requests.set()
            case other:
                raise DecodeError(f"a server does not say {type(other).__name__} to a hub")

    async def _answer(self) -> None:
        """Answer all pending requests."""
        waiting = [each for each in self._servers if each.requested != each.answered]
        requested = [each.requested for each in waiting]
        seats = [(each, seat) for each in waiting for seat in each.seats.values()]
        known = await self._known([each.hashname for each in waiting])
        objections = await self._objections([seat for _, seat in seats])
        for (server, seat), objection in zip(seats, objections, strict=True):
            if objection and server.seats.pop(seat.hold.seat, None) is not None:
                self.tally["released"] += 1
                server.connection.send(messages.encode(ReleaseMessage(seat.hold.seat, objection)))
        for server, number in zip(waiting, requested, strict=True):
            server.answered = number
            if server.hashname in known:
                self.tally["renewed"] += 1
                server.connection.send(messages.encode(RenewedMessage(number)))
            else:
                self.tally["forgotten"] += 1
                server.connection.send(messages.encode(_forgotten()))
                server.connection.close()

    async def _known(self, servers: list[str]) -> set[str]:
        """The servers that the registry has."""
        found = await self._hot.entries([server_id(server) for server in servers])
        known = {entry.hashname for entry in found if entry is not None and entry.kind == "server"}
        return known.intersection(servers)

    async def _objections(self, seats: list[_LeasedSeat]) -> list[str]:
        """Why each is not allowed any more; empty while it is."""
        macs = list({seat.hold.mac for seat in seats})
        hashes = {seat.authority.credential for seat in seats if seat.authority is not None}
        bearers = await self._credentials.bearers(hashes, self._clock.now())
        devices = await self._devices.some(macs)
        entries = dict(zip(macs, await self._hot.entries(macs), strict=True))
        bound = {mac: entry.hashname for mac, entry in entries.items() if entry is not None}
        owned = {mac: DeviceOwner(each.owner, each.claimed_at) for mac, each in devices.items()}
        return [_objection(seat, bearers, owned, bound) for seat in seats]


def _objection(
    seat: _LeasedSeat,
    bearers: dict[bytes, CredentialBearer],
    owned: dict[bytes, DeviceOwner],
    bound: dict[bytes, str],
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


def _authority(hold: HoldMessage) -> SeatAuthority | None:
    try:
        return authorities.decode(hold.authority)
    except DecodeError:
        return None


def _forgotten() -> FaultMessage:
    return FaultMessage(FaultCode.DENIED, "no server of that name is known here")
