"""Publish, subscribe and ask through a broker on real sockets (C7)."""

import asyncio

import pytest

from rookery.errors import UnreachableError
from rookery.runtime.crow.inbox import MESSAGES_MAX
from rookery.runtime.crow.outcome import DeliveryStatus
from tests.patience import PATIENCE_S
from tests.runtime.crow.recorder import eventually
from tests.runtime.crow.towers import broker_tower, udp_tower


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_what_is_published_reaches_whoever_subscribed(qos: int) -> None:
    async with (
        broker_tower() as (_, broker),
        udp_tower() as (alice, _),
        udp_tower() as (bob, _),
        asyncio.timeout(PATIENCE_S),
        bob.subscribe(broker, "weather", qos=qos) as messages,
    ):
        if qos == 0:  # nobody told us that the broker knows
            await bob.request(broker, 100, b"themes")
        for number in range(50):
            outcome = await alice.publish(broker, "weather", b"%d" % number, qos=qos)
            assert outcome.status is (DeliveryStatus.DELIVERED if qos else DeliveryStatus.SENT)
        got = [int((await messages.receive()).data) for _ in range(50)]
        assert sorted(got) == list(range(50))


async def test_messages_are_iterated_with_their_theme_until_the_tower_is_closed() -> None:
    async with broker_tower() as (_, broker), udp_tower() as (bob, _):
        async with bob.subscribe(broker, "rooms/+/light") as messages:
            await bob.publish(broker, "rooms/kitchen/light", b"on", qos=2)
            await bob.publish(broker, "rooms/kitchen/heat", b"off", qos=2)
            await bob.publish(broker, b"rooms/cellar/light", b"off", qos=2)
            heard = []
            async for message in messages:
                heard.append((message.theme, message.data))
                if len(heard) == 2:
                    await bob.close()
        assert heard == [(b"rooms/kitchen/light", b"on"), (b"rooms/cellar/light", b"off")]
        with pytest.raises(UnreachableError):
            await messages.receive()


async def test_leaving_the_block_ends_the_subscription_and_no_other() -> None:
    async with broker_tower() as (_, broker), udp_tower() as (bob, _), asyncio.timeout(PATIENCE_S):
        async with bob.subscribe(broker, "t") as long:
            async with bob.subscribe(broker, "t") as short:
                await bob.publish(broker, "t", b"one")
                assert (await short.receive()).data == b"one"
            await bob.publish(broker, "t", b"two")
            assert [(await long.receive()).data for _ in range(2)] == [b"one", b"two"]
        await bob.publish(broker, "t", b"three", qos=2)
        async with bob.subscribe(broker, "t", latest=1) as again:
            assert (await again.receive()).data == b"three"
        assert bob.dropped["not subscribed"] == 0


async def test_large_messages_come_in_one_piece() -> None:
    data = bytes(range(256)) * 100
    async with (
        broker_tower() as (_, broker),
        udp_tower() as (bob, _),
        bob.subscribe(broker, "large", qos=2) as messages,
    ):
        assert (await bob.publish(broker, "large", data, qos=2)).is_delivered
        async with asyncio.timeout(PATIENCE_S):
            assert (await messages.receive()).data == data


@pytest.mark.slow
async def test_a_broker_that_restarts_finds_its_subscribers_again() -> None:
    async with udp_tower() as (bob, _):
        async with broker_tower() as (_, broker):
            subscription = bob.subscribe(broker, "t", ackquant_ms=20)
            await subscription.__aenter__()
        port = int.from_bytes(broker[5:], "big")
        async with broker_tower(port) as (_, again), asyncio.timeout(PATIENCE_S):
            assert again == broker
            while True:
                await bob.publish(broker, "t", b"back", ackquant_ms=20)
                try:
                    async with asyncio.timeout(0.3):
                        assert (await subscription.receive()).data == b"back"
                    break
                except TimeoutError:
                    continue
            await subscription.__aexit__(None, None, None)


async def test_a_reader_that_does_not_keep_up_misses_the_oldest() -> None:
    async with (
        broker_tower() as (_, broker),
        udp_tower() as (bob, _),
        # Exactly once, and with patience: a busy machine must not make copies of its own.
        bob.subscribe(broker, "t", qos=2, ackquant_ms=600) as messages,
    ):
        async with asyncio.TaskGroup() as group:
            for number in range(MESSAGES_MAX + 5):
                publishing = bob.publish(broker, "t", b"%d" % number, qos=2, ackquant_ms=600)
                group.create_task(publishing)
        await eventually(lambda: messages.missed == 5)
        kept = {(await messages.receive()).data for _ in range(MESSAGES_MAX)}
        assert len(kept) == MESSAGES_MAX


async def test_no_broker_is_told() -> None:
    async with udp_tower() as (alice, nobody), udp_tower() as (bob, _):
        await alice.close()
        with pytest.raises(UnreachableError, match="does not answer"):
            async with bob.subscribe(nobody, "t", ackquant_ms=10):
                pass
        assert not (await bob.publish(nobody, "t", b"", ackquant_ms=10)).is_delivered
        with pytest.raises(UnreachableError, match="does not answer"):
            await bob.client(nobody).ask("t", b"", ackquant_ms=10)


async def test_a_tower_without_a_broker_is_told() -> None:
    async with udp_tower() as (_, hop), udp_tower() as (bob, _):
        with pytest.raises(UnreachableError, match="no broker"):
            await bob.client(hop).ask("t", b"")


async def test_questions_are_answered_through_the_broker() -> None:
    async def shout(data: bytes) -> bytes:
        return data.upper()

    async with (
        broker_tower() as (_, broker),
        udp_tower() as (alice, _),
        udp_tower() as (bob, _),
        asyncio.timeout(PATIENCE_S),
    ):
        serving = asyncio.get_running_loop().create_task(bob.client(broker).serve("shout", shout))
        asker = alice.client(broker)
        while True:
            try:
                assert await asker.ask("shout", b"ready?", timeout_s=0.2) == b"READY?"
                break
            except UnreachableError:
                continue
        await bob.publish(broker, "shout", b"", qos=2)  # is no question
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(asker.ask("shout", b"n%d" % n)) for n in range(20)]
        assert [each.result() for each in asked] == [b"N%d" % n for n in range(20)]
        with pytest.raises(UnreachableError, match="in time"):
            await asker.ask("nobody serves this", b"", timeout_s=0.05)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
