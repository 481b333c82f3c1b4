"""Towers on real sockets: packets, nodes, channels, requests (C1, C3, C5, C6)."""

import asyncio
import socket

import pytest

from rookery.crow.events import Event, NodeRefused
from rookery.crow.packet_events import PacketArrived
from rookery.errors import ChannelError, CongestionError, UnreachableError, UsageError
from rookery.runtime.crow.channel import CrowChannel
from rookery.runtime.crow.gates.loop_gate import CrowLoopGate
from rookery.runtime.crow.inbox import MESSAGES_MAX
from rookery.runtime.crow.outcome import DeliveryStatus
from rookery.runtime.crow.tower import CrowTower
from rookery.wire.crow.address import format as text
from rookery.wire.crow.address import udp_hop
from rookery.wire.crow.packet import LEGACY_PUBSUB
from tests.patience import PATIENCE_S
from tests.runtime.crow.recorder import eventually
from tests.runtime.crow.towers import udp_tower


def nowhere() -> bytes:
    """A hop to a port that nobody listens on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return udp_hop("127.0.0.1", sock.getsockname()[1])


@pytest.mark.parametrize(
    ("qos", "status"),
    [(0, DeliveryStatus.SENT), (1, DeliveryStatus.DELIVERED), (2, DeliveryStatus.DELIVERED)],
)
async def test_a_packet_arrives_and_its_sender_learns_what_can_be_known(
    qos: int, status: DeliveryStatus
) -> None:
    """C3."""
    async with udp_tower() as (alice, home), udp_tower() as (bob, hop):
        outcome = await alice.send(hop, b"hello", kind=5, qos=qos)
        assert outcome.status is status
        async with asyncio.timeout(PATIENCE_S):
            arrived = await bob.receive()
        assert (arrived.packet.data, arrived.packet.type) == (b"hello", 5)
        assert arrived.return_address == home


@pytest.mark.parametrize("qos", [1, 2])
async def test_whoever_leaves_at_once_has_acknowledged_what_was_read(qos: int) -> None:
    """C3, C8: the public tool leaves first, and a broker then sends it everything five times."""
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop), asyncio.TaskGroup() as tasks:
        sending = tasks.create_task(alice.send(hop, b"news", qos=qos))
        async with asyncio.timeout(PATIENCE_S):
            await bob.receive()
            await bob.close()
            assert (await sending).is_delivered


async def test_addresses_may_be_text() -> None:
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        assert (await alice.send(text(hop), b"hello", qos=1)).is_delivered
        assert (await bob.receive()).packet.data == b"hello"
        with pytest.raises(UsageError):
            await alice.send("nonsense", b"")


async def test_arrivals_are_iterated_in_order_until_the_tower_is_closed() -> None:
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        for number in range(100):
            assert (await alice.send(hop, b"%d" % number, qos=2)).is_delivered
        await bob.close()
        assert [arrived.packet.data async for arrived in bob] == [b"%d" % n for n in range(100)]
        with pytest.raises(UnreachableError):
            await bob.receive()


async def test_nobody_there_is_undelivered() -> None:
    async with udp_tower() as (alice, _):
        outcome = await alice.send(nowhere(), b"hello", qos=1, ackquant_ms=10)
        assert outcome.status is DeliveryStatus.UNDELIVERED
        assert not outcome.is_delivered
        assert outcome.reason


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_a_gate_that_is_not_there_is_undelivered_at_once(qos: int) -> None:
    async with udp_tower() as (alice, _):
        outcome = await alice.send(b"\x63", b"hello", qos=qos)
        assert outcome.status is DeliveryStatus.UNDELIVERED
        assert "gate 99" in outcome.reason


async def test_many_senders_wait_for_room_and_all_deliver() -> None:
    """More at once than the window and the queue behind it hold."""
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        async with asyncio.TaskGroup() as group:
            sends = [
                group.create_task(alice.send(hop, b"%d" % number, qos=2)) for number in range(1000)
            ]
        assert all(send.result().is_delivered for send in sends)
        await bob.close()
        got = [int(arrived.packet.data) async for arrived in bob]
        assert sorted(got) == list(range(1000))


async def test_a_sender_that_gives_up_waiting_lets_the_next_one_in() -> None:
    async with udp_tower() as (alice, _), udp_tower() as (_, hop):
        sends = [
            asyncio.get_running_loop().create_task(alice.send(hop, b"", qos=1)) for _ in range(900)
        ]
        await asyncio.sleep(0)
        for send in sends[::2]:
            send.cancel()
        await asyncio.gather(*sends, return_exceptions=True)
        assert all(send.result().is_delivered for send in sends[1::2])


async def test_posting_does_not_wait_and_says_when_there_is_no_room() -> None:
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        alice.post(hop, b"first", qos=1)
        assert (await bob.receive()).packet.data == b"first"
        deaf = nowhere()

        def flood() -> None:
            for _ in range(10_000):
                alice.post(deaf, b"", qos=1)

        with pytest.raises(CongestionError):
            flood()


async def test_a_tower_passes_packets_on_only_if_it_was_told_to() -> None:
    """C1; off unless asked for."""
    async with (
        udp_tower() as (alice, home),
        udp_tower(forwards=True) as (_, relay),
        udp_tower() as (silent, dead_end),
        udp_tower() as (bob, hop),
    ):
        assert (await alice.send(relay + hop, b"through", qos=2)).is_delivered
        assert (await bob.receive()).return_address == relay + home
        outcome = await alice.send(dead_end + hop, b"not through", qos=1, ackquant_ms=10)
        assert outcome.status is DeliveryStatus.UNDELIVERED
        assert silent.dropped["forwarding is off"] == 5


async def test_a_route_may_lead_through_the_tower_itself() -> None:
    async with CrowTower(forwards=True) as tower:
        tower.add_gate(CrowLoopGate(tower, gate_id=7))
        assert (await tower.send(b"\x07\x07\x07", b"round", qos=2)).is_delivered
        assert (await tower.receive()).return_address == b"\x07\x07\x07"
        assert (await tower.send(b"", b"here", qos=1)).is_delivered
        assert (await tower.receive()).packet.data == b"here"


async def test_a_full_inbox_is_not_acknowledged_so_nothing_is_lost() -> None:
    """Whoever does not read slows the sender down, or its messages are honestly undelivered."""
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        for number in range(MESSAGES_MAX):
            assert (await alice.send(hop, b"%d" % number, qos=2)).is_delivered
        outcome = await alice.send(hop, b"too many", qos=1, ackquant_ms=10)
        assert outcome.status is DeliveryStatus.UNDELIVERED
        assert bob.dropped["inbox full"] == 5
        sending = asyncio.get_running_loop().create_task(alice.send(hop, b"late", qos=2))
        await eventually(lambda: bob.dropped["inbox full"] > 5)
        assert (await bob.receive()).packet.data == b"0"
        assert (await sending).is_delivered
        async with bob.node(5) as node:  # and other readers are none the wiser
            assert (await alice.node().send(hop, 5, b"to a node")).is_delivered
            assert (await node.receive()).data == b"to a node"


# --- nodes ---


async def test_nodes_talk_and_reply() -> None:
    """C5."""
    async with (
        udp_tower() as (alice, _),
        udp_tower() as (bob, hop),
        alice.node() as mine,
        bob.node(40) as theirs,
    ):
        assert (await mine.send(hop, 40, b"question")).is_delivered
        async for question in theirs:
            assert (question.sid, question.rid, question.data) == (mine.id, 40, b"question")
            assert (await theirs.reply(question, b"answer")).is_delivered
            break
        assert (await mine.receive()).data == b"answer"


async def test_a_missing_node_is_told() -> None:
    """C5."""
    async with udp_tower() as (alice, _), udp_tower() as (_, hop):
        node = alice.node()
        refusals: list[NodeRefused] = []
        node.on_refused = refusals.append
        await node.send(hop, 41, b"anybody?")
        await eventually(lambda: bool(refusals))
        assert (refusals[0].sid, refusals[0].code, refusals[0].return_address) == (41, 33, hop)


async def test_a_large_message_is_split_and_put_together() -> None:
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        data = bytes(range(256)) * 200
        theirs = bob.node(1)
        assert (await alice.node().send(hop, 1, data, chunk_size=1000)).is_delivered
        assert (await theirs.receive()).data == data


async def test_a_closed_node_ends_its_readers_and_frees_its_id() -> None:
    async with udp_tower() as (alice, _):
        node = alice.node(9)
        with pytest.raises(UsageError, match="registered already"):
            alice.node(9)
        node.close()
        assert [message async for message in node] == []
        with pytest.raises(UnreachableError):
            await node.receive()
        alice.node(9).close()


# --- requests ---


async def test_a_request_is_answered() -> None:
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop), bob.node(7) as service:

        async def serve() -> None:
            async for question in service:
                await service.reply(question, question.data.upper())

        serving = asyncio.get_running_loop().create_task(serve())
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(alice.request(hop, 7, b"ask %d" % n)) for n in range(20)]
        assert [each.result() for each in asked] == [b"ASK %d" % n for n in range(20)]
        serving.cancel()


async def test_a_request_that_nobody_answers_says_why() -> None:
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop), bob.node(7):
        with pytest.raises(UnreachableError, match="no such node"):
            await alice.request(hop, 8, b"")
        with pytest.raises(UnreachableError, match="no reply"):
            await alice.request(hop, 7, b"", timeout_s=0.05)
        with pytest.raises(UnreachableError, match="undelivered"):
            await alice.request(nowhere(), 7, b"", ackquant_ms=10)
        asking = asyncio.get_running_loop().create_task(alice.request(hop, 7, b""))
        await asyncio.sleep(0)
        await alice.close()
        with pytest.raises(UnreachableError, match="closed"):
            await asking


# --- channels ---


async def echo(channel: CrowChannel) -> None:
    async for frame in channel:
        await channel.send(b"echo " + frame)


async def test_a_channel_carries_frames_both_ways_in_order() -> None:
    """C6."""
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        assert bob.accept(80, echo) == 80
        async with asyncio.timeout(PATIENCE_S), await alice.connect(hop, 80) as channel:
            for number in range(200):
                await channel.send(b"%d" % number)
                if number % 50 == 49:
                    for back in range(number - 49, number + 1):
                        assert await channel.receive() == b"echo %d" % back


async def test_a_channel_is_a_stream_of_any_length() -> None:
    """C6; what was written arrives before the end does."""
    data = bytes(range(256)) * 1000
    received = bytearray()
    done = asyncio.Event()

    async def keep(channel: CrowChannel) -> None:
        async for frame in channel:
            received.extend(frame)
        done.set()

    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        bob.accept(80, keep)
        async with asyncio.timeout(PATIENCE_S):
            async with await alice.connect(hop, 80, qos=2) as channel:
                await channel.write(data)
            await done.wait()
    assert bytes(received) == data


async def test_two_acceptors_keep_their_channels_apart() -> None:
    async def shout(channel: CrowChannel) -> None:
        async for frame in channel:
            await channel.send(frame.upper())

    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        bob.accept(80, echo)
        bob.accept(81, shout)
        quiet, loud = await alice.connect(hop, 80), await alice.connect(hop, 81)
        await quiet.send(b"hi")
        await loud.send(b"hi")
        assert await quiet.receive() == b"echo hi"
        assert await loud.receive() == b"HI"


async def test_the_handlers_return_ends_the_channel() -> None:
    async def greet(channel: CrowChannel) -> None:
        await channel.send(b"welcome")

    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        bob.accept(80, greet)
        async with asyncio.timeout(PATIENCE_S):
            channel = await alice.connect(hop, 80)
            assert [frame async for frame in channel] == [b"welcome"]


async def test_nobody_accepting_is_unreachable() -> None:
    async with udp_tower() as (alice, _), udp_tower() as (_, hop):
        with pytest.raises(UnreachableError, match="no such node"):
            await alice.connect(hop, 80)
        with pytest.raises(UnreachableError, match="undelivered"):
            await alice.connect(nowhere(), 80, ackquant_ms=10)


async def test_a_peer_that_vanishes_breaks_the_channel() -> None:
    async with udp_tower() as (alice, _):
        async with udp_tower() as (bob, hop):
            hold = asyncio.Event()

            async def wait(channel: CrowChannel) -> None:
                await hold.wait()

            bob.accept(80, wait)
            channel = await alice.connect(hop, 80, ackquant_ms=10)
            for gate in bob.gates.values():  # no word of farewell gets out
                await gate.close()
        await channel.send(b"hello?")
        with pytest.raises(ChannelError, match="undelivered"):
            await channel.receive()
        with pytest.raises(ChannelError):
            await channel.send(b"hello?")


# --- life ---


async def test_closing_resolves_all_waiting_tasks() -> None:
    async with udp_tower() as (alice, _):
        loop = asyncio.get_running_loop()
        sends = [loop.create_task(alice.send(nowhere(), b"", qos=1)) for _ in range(3)]
        deaf = nowhere()
        crowd = [loop.create_task(alice.send(deaf, b"", qos=1)) for _ in range(900)]
        reading = loop.create_task(alice.node(3).receive())
        await asyncio.sleep(0)
        await alice.close()
        await alice.close()
        for send in (*sends, *crowd):
            assert (await send).status is DeliveryStatus.UNDELIVERED
        with pytest.raises(UnreachableError):
            await reading


async def test_two_gates_cannot_have_one_id() -> None:
    async with CrowTower() as tower:
        tower.add_gate(CrowLoopGate(tower))
        with pytest.raises(UsageError, match="gate 1 already"):
            tower.add_gate(CrowLoopGate(tower))


async def test_events_can_be_taken_by_a_handler() -> None:
    """For brokers, whose older clients use packets that are for no node."""
    async with udp_tower() as (alice, _), udp_tower() as (bob, hop):
        taken: list[bytes] = []

        def take(event: Event, now: float) -> bool:
            match event:
                case PacketArrived(packet) if packet.type == LEGACY_PUBSUB:
                    taken.append(packet.data)
                    return True
            return False

        bob.add_handler(take)
        alice.post(hop, b"the handler's", kind=LEGACY_PUBSUB)
        alice.post(hop, b"the reader's")
        assert (await bob.receive()).packet.data == b"the reader's"
        assert taken == [b"the handler's"]
