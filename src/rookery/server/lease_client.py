"""Lease client: keeps asking a hub whether the sessions at this server are still allowed.

    server ─ HOLD (new seats), LET_GO (free ones), RENEW n ─▶ hub        every `renew_s`
    server ◀──── RELEASE (what is not allowed), RENEWED n ─── hub

A lease counts from the time of the request, so a delayed answer extends it no further. A hub that
does not answer is dialled again, at its next address; until one answers, the last leases apply.
"""

import asyncio
import itertools
import logging
from collections import Counter
from typing import Protocol

import msgspec

from rookery.errors import DecodeError, ProtocolError, UnreachableError
from rookery.identity.identity import Identity
from rookery.runtime.fleet.hub_address import HubAddress, HubSocketAddress
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.wire.fleet.messages import (
    FaultCode,
    FaultMessage,
    HoldMessage,
    LetGoMessage,
    Message,
    ReleaseMessage,
    RenewedMessage,
    RenewMessage,
    decode,
    encode,
)
from rookery.wire.fleet.tlv import Tlv

FORGOTTEN = "the hub does not know this server any more"

_LIMITS = SealedConnectionLimits(unsent_bytes_max=64 << 20)  # the holds of all seats, at once
_PENDING_MAX = 64  # pending requests

_log = logging.getLogger(__name__)


class LeaseLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Intervals of requests and timeouts, in seconds."""

    renew_s: float = 1.0
    patience_s: float = 2.0  # for an answer; doubled each time there is none
    patience_max_s: float = 15.0
    dial_s: float = 5.0
    retry_s: float = 0.5
    stranger_s: float = (
        5.0  # until a hub is asked again that does not know this server, or has no leases
    )


class SeatHolder(Protocol):
    """The holder of the seats."""

    @property
    def held(self) -> list[HoldMessage]:
        """Those that have a lease."""

    def renew(self, seats: list[str], requested_at: float) -> None:
        """A hub allows these, as of the time of the request."""

    def revoke(self, seat: str, reason: str) -> None:
        """A hub does not allow this one."""

    def revoke_all(self, reason: str) -> None:
        """A hub allows none."""


class LeaseClient:
    """`run` until it is cancelled."""

    def __init__(
        self, identity: Identity, hub: HubAddress, holder: SeatHolder, limits: LeaseLimits
    ) -> None:
        self._identity = identity
        self._hub = hub
        self._holder = holder
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._places: list[HubSocketAddress] = []
        self._patience_s = limits.patience_s
        self.is_renewed = False  # whether a hub answers
        self.tally: Counter[str] = Counter()

    async def run(self) -> None:
        while True:
            pause_s = self._limits.retry_s
            try:
                connection = await self._dial()
                try:
                    await _LeaseConnection(connection, self._holder, self._limits, self).run()
                finally:
                    connection.abort()
            except _LeaseRefusedError as refusal:
                if refusal.fault.code in (FaultCode.DENIED, FaultCode.PROTOCOL):
                    pause_s = self._limits.stranger_s
                self._refused(refusal.fault)
            except (UnreachableError, ProtocolError, DecodeError) as error:
                self.tally["lost"] += 1
                _log.info("leases are not renewed: %s", error)
            finally:
                self.is_renewed = False
            await asyncio.sleep(pause_s)

    @property
    def patience_s(self) -> float:
        return self._patience_s

    def answered(self) -> None:
        """The hub has renewed what it was asked to."""
        self.is_renewed = True
        self._patience_s = self._limits.patience_s
        self.tally["renewed"] += 1

    def unanswered(self) -> None:
        """No answer in time; the hub may only be slow."""
        self._patience_s = min(2 * self._patience_s, self._limits.patience_max_s)
        self.tally["unanswered"] += 1

    def _refused(self, fault: FaultMessage) -> None:
        self.tally["refused"] += 1
        if fault.code == FaultCode.DENIED:
            # Before the first renewal it may just not have enrolled yet, which readiness tells.
            level = logging.WARNING if self.tally["renewed"] else logging.INFO
            _log.log(level, "the hub refuses this server: %s", fault.text)
            self._holder.revoke_all(FORGOTTEN)

    async def _dial(self) -> SealedConnection:
        if not self._places:
            self._places = await self._hub.tcp()
        place = self._places.pop(0)
        return await SealedConnection.dial(
            self._identity,
            self._hub.hashname,
            self._hub.stream_keys,
            *place,
            timeout_s=self._limits.dial_s,
            limits=_LIMITS,
        )


class _LeaseRefusedError(Exception):
    def __init__(self, fault: FaultMessage) -> None:
        super().__init__(fault.text)
        self.fault = fault


class _LeaseConnection:
    """One connection to a hub: seats announced on it, and pending requests."""

    def __init__(
        self,
        connection: SealedConnection,
        holder: SeatHolder,
        limits: LeaseLimits,
        leases: LeaseClient,
    ) -> None:
        self._connection = connection
        self._holder = holder
        self._limits = limits
        self._leases = leases
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._announced: dict[str, int] = {}  # seats, and the first RENEW after their HOLD
        self._pending: dict[int, float] = {}  # pending requests by number, and when they were sent

    async def run(self) -> None:
        """Until the hub is gone, or refuses us."""
        due = self._loop.time()
        while True:
            if due <= (now := self._loop.time()):
                self._ask(now)
                due = now + self._limits.renew_s
            waited_for = min(self._pending.values(), default=now)
            give_up_at = waited_for + self._leases.patience_s
            try:
                async with asyncio.timeout_at(min(due, give_up_at)):
                    tlv = await self._connection.receive()
            except TimeoutError:
                if self._pending and self._loop.time() >= give_up_at:
                    self._leases.unanswered()
                    raise UnreachableError("the hub did not answer in time") from None
                continue
            if tlv is None:
                raise UnreachableError(
                    f"the connection ended: {self._connection.error or 'closed'}"
                )
            self._handle(tlv)

    def _ask(self, now: float) -> None:
        if len(self._pending) >= _PENDING_MAX:
            return
        number = next(self._numbers)
        held = {hold.seat: hold for hold in self._holder.held}
        gone = [seat for seat in self._announced if seat not in held]
        new = [hold for seat, hold in held.items() if seat not in self._announced]
        for seat in gone:
            del self._announced[seat]
        self._announced.update((hold.seat, number) for hold in new)
        self._pending[number] = now
        said: list[Message] = [*map(LetGoMessage, gone), *new, RenewMessage(number)]
        self._connection.send(*map(encode, said))

    def _handle(self, tlv: Tlv) -> None:
        match decode(tlv):
            case RenewedMessage(number):
                self._renewed(number)
            case ReleaseMessage(seat, reason):
                self._announced.pop(seat, None)
                self._holder.revoke(seat, reason)
            case FaultMessage() as fault:
                raise _LeaseRefusedError(fault)
            case other:
                raise ProtocolError(f"a hub does not say {type(other).__name__} to a server")

    def _renewed(self, number: int) -> None:
        requested_at = self._pending.get(number)
        if requested_at is None:
            return
        self._pending = {each: at for each, at in self._pending.items() if each > number}
        self._leases.answered()
        self._holder.renew(
            [seat for seat, since in self._announced.items() if since <= number], requested_at
        )
