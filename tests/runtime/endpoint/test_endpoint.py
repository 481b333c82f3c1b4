"""The endpoint over a memory network in virtual time: links, events, routers, strangers."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rookery.errors import ChannelError, UnreachableError, UsageError
from rookery.link.link import LinkState
from rookery.link.session.handshake import Stranger
from rookery.runtime.endpoint.channel import AsyncChannel
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.sim.loop import run_virtual
from rookery.sim.network.network import Conditions
from rookery.wire.link.path import PeerPath
from tests.runtime.endpoints import endpoints, linked, wall


async def echo(stream: LinkStream) -> None:
    async for chunk in stream:
        stream.write(chunk)
        await stream.drain()


def virtually(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run a test to its end in virtual time."""

    def run() -> None:
        async def main() -> None:
            await test()

        run_virtual(main())

    run.__doc__ = test.__doc__
    return run


@virtually
async def test_two_strangers_link_by_a_uri_and_talk() -> None:
    """T2, T5: a URI is all it takes, once the other side accepts."""
    async with endpoints(2) as ((alice, bob), _):
        bob.on_discover = bob.link
        bob.on_stream(echo)
        link = await alice.link(bob.address.uri()).up()
        async with link.stream() as stream:
            stream.write(b"hello")
            stream.write_eof()
            assert await stream.read() == b"hello"
        assert link.hashname == bob.hashname
        assert link.state is LinkState.UP
        assert link.rtt == pytest.approx(0.002)


@virtually
async def test_a_link_takes_json_as_text_or_object_and_gives_the_same_link() -> None:
    """T5."""
    async with endpoints(2) as ((alice, bob), _):
        link = await linked(alice, bob)
        assert alice.link(bob.address.json()) is link
        assert alice.link(bob.hashname) is link


@virtually
async def test_an_endpoint_that_accepts_nobody_stays_silent() -> None:
    """T6: the stranger is reported, and not a byte goes back."""
    async with endpoints(2) as ((alice, bob), _):
        seen: list[Stranger] = []
        bob.on_discover = seen.append
        with pytest.raises(UnreachableError, match="not reachable"):
            await alice.link(bob.address).up(timeout_s=5)
        assert {stranger.hashname for stranger in seen} == {alice.hashname}
        assert all(stranger.is_proven for stranger in seen)
        assert not bob.links


@virtually
async def test_up_and_down_are_told_as_events() -> None:
    """T5: the peer vanishes, the link goes down, and comes back with it."""
    async with endpoints(2) as ((alice, bob), network):
        link = await linked(alice, bob)
        events = link.events()
        network.network.change(Conditions(blocked=True))
        assert await anext(events) is LinkState.DOWN
        assert link.last_error == "no answer"
        assert not link.is_up
        network.network.change(Conditions())
        assert await anext(events) is LinkState.UP


@virtually
async def test_a_lost_link_fails_its_channels() -> None:
    """T2."""
    async with endpoints(2) as ((alice, bob), network):
        bob.on_stream(echo)
        link = await linked(alice, bob)
        stream = link.stream()
        events = link.events()
        network.network.change(Conditions(blocked=True))
        with pytest.raises(ChannelError):
            await stream.read()
        stream.abort()
        assert await anext(events) is LinkState.DOWN
        with pytest.raises(UnreachableError, match="is down"):
            link.stream()


@virtually
async def test_idle_links_stay_up_for_an_hour() -> None:
    """T2: keepalives do it, at a tenth of loss."""
    async with endpoints(2, conditions=Conditions(delay_s=0.05, loss=0.1)) as ((alice, bob), _):
        link = await linked(alice, bob)
        changes: list[LinkState] = []

        async def listen() -> None:
            changes.extend([state async for state in link.events()])

        async with asyncio.TaskGroup() as group:
            listener = group.create_task(listen())
            await asyncio.sleep(3600)
            listener.cancel()
        assert link.is_up
        assert changes == []


@virtually
async def test_all_paths_of_a_link_are_found_and_kept() -> None:
    """T2: a link made over UDP learns of the TCP listener and holds both."""
    async with endpoints(2) as ((alice, bob), network):
        udp = bob.address
        for number, endpoint in enumerate((alice, bob), 1):
            endpoint.add_gate(network.gate(endpoint, f"10.0.0.{number}", kind="tcp4"))
        bob.on_discover = bob.link
        link = await alice.link(udp).up()
        await asyncio.sleep(60)
        assert {state.path.kind for state in link.core.paths if state.is_usable} == {"udp4", "tcp4"}


@virtually
async def test_announcing_ends_by_itself() -> None:
    """T6: to be used sparingly."""
    async with endpoints(1) as ((endpoint,), _):
        endpoint.discover(seconds=30)
        await asyncio.sleep(29)
        assert endpoint.is_discoverable
        await asyncio.sleep(2)
        assert not endpoint.is_discoverable


@virtually
async def test_a_router_introduces_peers_that_know_only_a_name() -> None:
    """T4: Alice and Bob have links to a router and nothing else."""
    async with endpoints(3) as ((alice, bob, router), network):
        router.route()
        to_router = await linked(alice, router)
        to_router.router()
        back = await linked(bob, router)
        back.router()
        block = Conditions(blocked=True)
        network.network.change(block, "10.0.0.1", "10.0.0.2")
        network.network.change(block, "10.0.0.2", "10.0.0.1")
        bob.on_discover = bob.link
        bob.on_stream(echo)
        link = await alice.link(bob.hashname).up()
        assert link.path == PeerPath(router.hashname)
        async with link.stream() as stream:
            stream.write(b"by way of the router" * 1000)
            stream.write_eof()
            assert await stream.read() == b"by way of the router" * 1000


@virtually
async def test_a_peer_that_restarts_elsewhere_is_answered_there() -> None:
    """T2: the same keys again at once, from another port, while the old one still looks alive."""
    async with endpoints(2) as ((alice, bob), network):
        bob.on_stream(echo)
        await linked(alice, bob)
        for number in range(3, 6):
            await alice.close()
            clock = asyncio.get_running_loop().time
            async with AsyncEndpoint(alice.identity, clock=clock, wall=wall) as again:
                again.add_gate(network.gate(again, f"10.0.0.{number}"))
                async with (
                    asyncio.timeout(4),
                    (await again.link(bob.address).up()).stream() as stream,
                ):
                    stream.write(b"back again")
                    stream.write_eof()
                    assert await stream.read() == b"back again"


@virtually
async def test_an_introduction_ends_under_the_best_cipher_set() -> None:
    """T4: keys arrive one by one, and the first to arrive may be of a lesser set."""
    async with endpoints(3, csids=(0x3A, 0x40)) as ((alice, bob, router), _):
        router.route()
        (await linked(alice, router)).router()
        (await linked(bob, router)).router()
        bob.on_discover = bob.link
        link = await alice.link(bob.hashname).up()
        assert link.csid == 0x40


@virtually
async def test_a_bridged_link_moves_to_the_direct_path() -> None:
    """T4: a relay is a beginning, not a fate."""
    async with endpoints(3) as ((alice, bob, router), _):
        router.route()
        (await linked(alice, router)).router()
        (await linked(bob, router)).router()
        bob.on_discover = bob.link
        link = await alice.link(bob.hashname).up()
        await asyncio.sleep(60)
        assert link.path is not None
        assert link.path.kind == "udp4"


@virtually
async def test_an_endpoint_that_is_no_router_passes_nothing_on() -> None:
    """T4: routing is off until it is asked for."""
    async with endpoints(3) as ((alice, bob, router), _):
        (await linked(alice, router)).router()
        (await linked(bob, router)).router()
        bob.on_discover = bob.link
        with pytest.raises(UnreachableError):
            await alice.link(bob.hashname).up(timeout_s=20)


@virtually
async def test_a_router_asks_its_policy() -> None:
    """T4: a router validates whom it helps."""
    async with endpoints(3) as ((alice, bob, router), _):
        asked: list[tuple[str, str]] = []

        def policy(requester: str, target: str) -> bool:
            asked.append((requester, target))
            return False

        router.route(policy)
        (await linked(alice, router)).router()
        await linked(bob, router)
        bob.on_discover = bob.link
        with pytest.raises(UnreachableError):
            await alice.link(bob.hashname).up(timeout_s=20)
        assert set(asked) == {(alice.hashname, bob.hashname)}


@virtually
async def test_a_handler_that_fails_tells_the_peer_and_nobody_else() -> None:
    async with endpoints(2) as ((alice, bob), _):

        async def refuse(channel: AsyncChannel) -> None:
            raise UsageError("not today")

        bob.serve("odd", refuse)
        link = await linked(alice, bob)
        with pytest.raises(ChannelError, match="not today"):
            await link.open("odd").receive()
        assert link.is_up


@virtually
async def test_a_channel_nobody_serves_is_refused() -> None:
    async with endpoints(2) as ((alice, bob), _):
        link = await linked(alice, bob)
        with pytest.raises(ChannelError, match="unknown type"):
            await link.open("nosuch").receive()


@virtually
async def test_unreliable_channels_carry_single_packets() -> None:
    async with endpoints(2) as ((alice, bob), _):

        async def answer(channel: AsyncChannel) -> None:
            while (message := await channel.receive()) is not None:
                await channel.send({"n": message.head["n"]}, message.body)

        bob.serve("datagrams", answer)
        link = await linked(alice, bob)
        channel = link.open("datagrams", reliable=False)
        assert not channel.reliable
        await channel.send({"n": 7}, b"body")
        reply = await channel.receive()
        assert reply is not None
        assert (reply.head["n"], reply.body) == (7, b"body")
        await channel.end()
        await channel.wait_closed()


@virtually
async def test_nothing_is_sent_after_the_end() -> None:
    async with endpoints(2) as ((alice, bob), _):
        bob.on_stream(echo)
        channel = (await linked(alice, bob)).open("stream")
        await channel.end()
        with pytest.raises(ChannelError, match="ended"):
            await channel.send(body=b"too late")


@virtually
async def test_a_forgotten_link_is_gone_on_both_sides() -> None:
    async with endpoints(2) as ((alice, bob), _):
        bob.on_stream(echo)
        link = await linked(alice, bob)
        stream = link.stream()
        stream.write(b"x")
        assert await stream.read(1) == b"x"
        events = link.events()
        link.close()
        assert [state async for state in events] == [LinkState.DOWN]
        assert not alice.links
        with pytest.raises(ChannelError):
            await stream.read()
        stream.abort()
        bob.on_discover = None
        await asyncio.sleep(120)
        assert not bob.links


@pytest.mark.parametrize(
    ("to", "complaint"),
    [
        ("not a link", "not a hashname"),
        ("{", "JSON"),
        ({"keys": {}}, "needs a hashname or keys"),
        ({"hashname": "a" * 52, "keys": {"40": "aa"}}, "another hashname"),
    ],
)
def test_a_wrong_address_is_one_clear_error(to: str | dict[str, object], complaint: str) -> None:
    """T5."""

    async def main() -> None:
        async with endpoints(1) as ((alice,), _):
            with pytest.raises(UsageError, match=complaint):
                alice.link(to)

    run_virtual(main())


@virtually
async def test_a_link_to_oneself_makes_no_sense() -> None:
    async with endpoints(1) as ((alice,), _):
        with pytest.raises(UsageError, match="this endpoint"):
            alice.link(alice.address)


@virtually
async def test_keys_that_are_no_keys_are_refused() -> None:
    async with endpoints(1) as ((alice,), _):
        with pytest.raises(UsageError):
            alice.link({"keys": {"40": "aa"}, "paths": []})
