"""Waiting for outcomes, and for room to send (C3)."""

import asyncio

from rookery.crow.packet_events import Ticket
from rookery.runtime.crow.outcome import CLOSED, DELIVERED, DeliveryStatus, MessageOutcome
from rookery.runtime.crow.pending_outcomes import PendingOutcomes
from tests.patience import PATIENCE_S

HERE, THERE = b"here", b"there"


class Window:
    """How many messages each address would take."""

    def __init__(self) -> None:
        self.room: dict[bytes, int] = {}

    def __call__(self, address: bytes) -> int:
        return self.room.get(address, 0)


async def test_an_outcome_reaches_whoever_expects_it() -> None:
    outcomes = PendingOutcomes(Window())
    good, bad = outcomes.expect(Ticket(1)), outcomes.expect(Ticket(2))
    outcomes.tell(Ticket(1), None)
    outcomes.tell(Ticket(2), "no answer")
    outcomes.tell(Ticket(3), None)  # nobody's
    assert await good is DELIVERED
    assert await bad == MessageOutcome(DeliveryStatus.UNDELIVERED, "no answer")


async def test_with_room_nobody_waits() -> None:
    window = Window()
    window.room[HERE] = 1
    await PendingOutcomes(window).wait_for_room(HERE)


async def test_room_is_given_in_the_order_of_asking_and_to_no_more_than_it_holds() -> None:
    window = Window()
    outcomes = PendingOutcomes(window)
    served: list[int] = []

    async def wait(number: int) -> None:
        await outcomes.wait_for_room(HERE)
        window.room[HERE] -= 1
        served.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(wait(number))
        await asyncio.sleep(0)
        window.room[HERE] = 2
        outcomes.call_up()
        await asyncio.sleep(0)
        assert served == [0, 1]
        window.room[HERE] = 2
        outcomes.call_up()
    assert served == [0, 1, 2, 3]


async def test_room_that_its_owner_no_longer_wants_goes_to_the_next() -> None:
    window = Window()
    outcomes = PendingOutcomes(window)
    loop = asyncio.get_running_loop()
    first = loop.create_task(outcomes.wait_for_room(HERE))
    second = loop.create_task(outcomes.wait_for_room(HERE))
    await asyncio.sleep(0)
    window.room[HERE] = 1
    outcomes.call_up()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    async with asyncio.timeout(PATIENCE_S):
        await second


async def test_a_busy_sender_is_called_once_there_is_ample_room() -> None:
    window = Window()
    outcomes = PendingOutcomes(window, ample=3)
    loop = asyncio.get_running_loop()
    waiting = [loop.create_task(outcomes.wait_for_room(HERE)) for _ in range(3)]
    await asyncio.sleep(0)
    window.room[HERE] = 2
    outcomes.call_up()
    await asyncio.sleep(0)
    assert outcomes.is_room_awaited
    assert not outcomes.has_room(HERE)  # nobody is served before those who wait
    window.room[HERE] = 3
    outcomes.call_up()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*waiting)
    assert not outcomes.is_room_awaited


async def test_one_full_address_holds_up_no_other() -> None:
    window = Window()
    window.room[THERE] = 1
    outcomes = PendingOutcomes(window)
    waiting = asyncio.get_running_loop().create_task(outcomes.wait_for_room(HERE))
    await asyncio.sleep(0)
    await outcomes.wait_for_room(THERE)
    assert not waiting.done()
    outcomes.close()
    await waiting


async def test_after_the_end_everything_is_undelivered() -> None:
    outcomes = PendingOutcomes(Window())
    expected = outcomes.expect(Ticket(1))
    outcomes.close()
    assert await expected is CLOSED
    assert await outcomes.expect(Ticket(2)) is CLOSED
    await outcomes.wait_for_room(HERE)
