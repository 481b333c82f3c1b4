"""A server that asks its hub all the time who may still sit there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from rookery.server.lease_client import FORGOTTEN, LeaseClient, LeaseLimits
from rookery.wire.fleet.messages import (
    FaultCode,
    FaultMessage,
    HoldMessage,
    LetGoMessage,
    ReleaseMessage,
    RenewedMessage,
    RenewMessage,
)
from tests.fleet.identities import ACCEPTOR
from tests.patience import PATIENCE_S
from tests.server.lease_hub import LeaseHub
from tests.server.world import DEVICE, MAC, plan, until, world

QUICK = LeaseLimits(renew_s=0.02, patience_s=PATIENCE_S, retry_s=0.01, stranger_s=0.01)


class Holder:
    """Seats by name, and what became of them."""

    def __init__(self, *seats: str) -> None:
        self.seats = list(seats)
        self.renewed: asyncio.Queue[tuple[list[str], float]] = asyncio.Queue()
        self.revoked: dict[str, str] = {}

    @property
    def held(self) -> list[HoldMessage]:
        return [hold(seat) for seat in self.seats]

    def renew(self, seats: list[str], requested_at: float) -> None:
        self.renewed.put_nowait((seats, requested_at))

    def revoke(self, seat: str, reason: str) -> None:
        self.seats.remove(seat)
        self.revoked[seat] = reason

    def revoke_all(self, reason: str) -> None:
        for seat in list(self.seats):
            self.revoke(seat, reason)


def hold(seat: str) -> HoldMessage:
    return HoldMessage(seat, MAC, DEVICE.hashname, b"by what")


@asynccontextmanager
async def lease_client(
    hub: LeaseHub, holder: Holder, limits: LeaseLimits = QUICK
) -> AsyncIterator[LeaseClient]:
    leases = LeaseClient(ACCEPTOR, hub.address, holder, limits)
    task = asyncio.get_running_loop().create_task(leases.run())
    try:
        yield leases
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def next_renew(hub: LeaseHub) -> int:
    """Passing over what comes before it."""
    while not isinstance(message := await hub.next(), RenewMessage):
        pass
    return message.number


async def test_the_hub_hears_what_is_held_and_what_is_not_any_more() -> None:
    async with LeaseHub() as hub:
        holder = Holder("one")
        async with lease_client(hub, holder) as leases:
            assert [await hub.next(), await hub.next()] == [hold("one"), RenewMessage(1)]
            hub.say(RenewedMessage(1))
            seats, requested_at = await holder.renewed.get()
            assert seats == ["one"]
            assert requested_at <= asyncio.get_running_loop().time()
            assert leases.is_renewed
            holder.seats = ["two"]
            while not isinstance(message := await hub.next(), LetGoMessage):
                assert isinstance(message, RenewMessage)
            assert message == LetGoMessage("one")
            assert await hub.next() == hold("two")


async def test_an_answer_renews_what_was_held_when_it_was_asked_for() -> None:
    """Not what came since: of that the hub had not heard."""
    async with LeaseHub() as hub:
        holder = Holder("one")
        async with lease_client(hub, holder):
            early = await next_renew(hub)
            holder.seats.append("two")
            while not isinstance(await hub.next(), HoldMessage):
                pass
            hub.say(RenewedMessage(early))
            assert (await holder.renewed.get())[0] == ["one"]
            hub.say(RenewedMessage(await next_renew(hub)))
            seats, _ = await holder.renewed.get()
            assert seats == ["one", "two"]


async def test_what_the_hub_releases_ends_with_its_reason() -> None:
    async with LeaseHub() as hub:
        holder = Holder("one", "two")
        async with lease_client(hub, holder):
            await next_renew(hub)
            hub.say(ReleaseMessage("one", "the device is no longer this account's"))
            await until(lambda: bool(holder.revoked))
            assert holder.revoked == {"one": "the device is no longer this account's"}
            assert holder.seats == ["two"]


async def test_a_lost_connection_is_made_again_and_told_everything() -> None:
    async with LeaseHub() as hub:
        holder = Holder("one")
        async with lease_client(hub, holder):
            await next_renew(hub)
            hub.lines[-1].abort()
            await until(lambda: len(hub.lines) > 1)
            while await hub.next() != hold("one"):
                pass
            assert await next_renew(hub) == 1
    assert holder.revoked == {}


async def test_a_hub_that_does_not_answer_is_dialled_anew_with_more_patience() -> None:
    """Its word may be lost with the connection; a hub that is slow is not asked ever faster."""
    async with LeaseHub() as hub:
        holder = Holder("one")
        limits = msgspec.structs.replace(QUICK, patience_s=0.05, patience_max_s=0.2)
        async with lease_client(hub, holder, limits) as leases:
            await until(lambda: leases.tally["unanswered"] >= 3)
            assert leases.patience_s == 0.2
            assert not leases.is_renewed
            assert len(hub.lines) >= 3
    assert holder.revoked == {}


async def test_a_hub_that_knows_no_such_server_ends_all_seats() -> None:
    async with LeaseHub() as hub:
        holder = Holder("one", "two")
        async with lease_client(hub, holder):
            await next_renew(hub)
            hub.say(FaultMessage(FaultCode.DENIED, "no server of that name is known here"))
            await until(lambda: not holder.seats)
    assert holder.revoked == {"one": FORGOTTEN, "two": FORGOTTEN}


async def test_a_hub_of_before_that_knows_no_leases_ends_nothing() -> None:
    async with LeaseHub() as hub:
        holder = Holder("one")
        async with lease_client(hub, holder) as leases:
            await next_renew(hub)
            hub.say(FaultMessage(FaultCode.PROTOCOL, "tag 2058 is not a message of a rendezvous"))
            await until(lambda: leases.tally["refused"] > 0)
    assert holder.revoked == {}


async def test_a_revoked_seat_is_closed_for_both_sides() -> None:
    """H2: what was attended had no end of its own."""
    async with world() as fleet:
        planned = plan()
        reserve = msgspec.structs.replace(planned.reserve, authority=b"by what")
        planned = type(planned)(reserve, planned.device_ticket, planned.client_ticket)
        hub, device, client = await fleet.met(planned)
        assert [held.seat for held in fleet.sessions.held] == ["seat-1"]
        fleet.sessions.revoke("seat-1", "the device is no longer this account's")
        for end in (device, client):
            fault = await end.heard()
            assert fault == FaultMessage(
                FaultCode.NO_SEAT, "the device is no longer this account's"
            )
            assert await end.gone()
        assert fleet.sessions.tally["revoked"] == 1
        assert fleet.sessions.held == []
        assert not hub.line.is_closed


async def test_a_seat_that_no_hub_speaks_for_ends_with_its_lease() -> None:
    async with world(lease_s=0.2) as fleet:
        planned = plan()
        reserve = msgspec.structs.replace(planned.reserve, authority=b"by what")
        planned = type(planned)(reserve, planned.device_ticket, planned.client_ticket)
        _, device, client = await fleet.met(planned)
        for end in (device, client):
            fault = await end.heard()
            assert isinstance(fault, FaultMessage)
            assert fault.code == FaultCode.NO_SEAT


async def test_a_forgotten_server_keeps_nobody() -> None:
    async with world() as fleet:
        planned = plan()
        _, _, client = await fleet.met(planned)
        fleet.sessions.revoke_all(FORGOTTEN)
        assert await client.heard() == FaultMessage(FaultCode.NO_SEAT, FORGOTTEN)
