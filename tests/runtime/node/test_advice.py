"""P5: advice for running nodes, on real sockets: from a file, from a member, and off."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import msgspec
import pytest

from rookery.errors import ChannelError, UnreachableError
from rookery.identity.artifact import seal
from rookery.identity.identity import Identity
from rookery.mesh.services import ADVICE
from rookery.runtime.artifact_file import ArtifactState
from rookery.runtime.net.http_listener import HttpRequest
from rookery.runtime.node.advice import AdviceFollower, AdviceSettings, follow_advice
from rookery.runtime.node.metrics import Metrics
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.node.view import NodeView
from rookery.runtime.tunnels.stream import TunnelStream
from rookery.wire.mesh.advice import Advice, AdviceWindow, LinkAdvice
from tests.patience import PATIENCE_S
from tests.runtime.realms import realm

LAKE = Identity.generate((0x40, 0x3A), Random(1).randbytes)
TRUSTED = frozenset({LAKE.hashname})


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if condition():
                return
            await asyncio.sleep(0.02)


class Pair:
    """Alice and Bob, who are neighbours."""

    def __init__(self, alice: MeshNode, bob: MeshNode, folder: Path, stack: AsyncExitStack) -> None:
        self.alice = alice
        self.bob = bob
        self.file = folder / "advice.rka"
        self.switch = folder / "advice.off"
        self._stack = stack

    def publish(self, factor: float = 2.0, by: Identity = LAKE, lasts_ms: int = 3_600_000) -> None:
        a, b = sorted((self.alice.hashname, self.bob.hashname))
        now_ms = time.time_ns() // 1_000_000
        window = AdviceWindow(now_ms - 60_000, now_ms + 3_600_000, factor, 1.0)
        link = LinkAdvice(self.alice.core.membership.realm.id, a, b, (window,))
        data = seal(Advice((link,)), by, issued_ms=now_ms, expires_ms=now_ms + lasts_ms)
        aside = self.file.with_suffix(".new")
        aside.write_bytes(data)
        aside.replace(self.file)

    async def follows(self, node: MeshNode, **settings: object) -> AdviceFollower:
        requested = AdviceSettings(switch=self.switch, advisors=TRUSTED, look_s=0.05)
        requested = msgspec.structs.replace(requested, **settings)
        return await self._stack.enter_async_context(follow_advice(node, requested))

    def factor(self, node: MeshNode) -> float:
        [neighbour] = node.core.neighbours.values()
        return neighbour.advice


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    alice, bob = realm(tmp_path, "alice", "bob")
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(mesh_node(alice.identity, alice.store))
        second = await stack.enter_async_context(
            mesh_node(bob.identity, bob.store, peers=[first.endpoint.address])
        )
        await until(lambda: len(first.core.neighbours) == len(second.core.neighbours) == 1)
        yield Pair(first, second, tmp_path, stack)


async def test_a_file_is_followed_while_it_is_there_and_not_switched_off(pair: Pair) -> None:
    """P5: the kill switch ends it within seconds, and so does deleting the file."""
    view = NodeView(pair.alice)
    shown = [view.status().advice]
    keeper = await pair.follows(pair.alice, file=pair.file)
    states = [keeper.state]
    shown.append(view.status().advice)
    pair.publish()
    await until(lambda: pair.factor(pair.alice) == 2)
    states.append(keeper.state)
    shown.append(view.status().advice)
    [bob] = view.peers()
    assert bob.advice == 2
    metrics = Metrics(view).answer(HttpRequest("GET", "/metrics")).body
    assert b'rookery_advice_state{state="followed"} 1.0' in metrics
    assert b"rookery_peer_advice_ratio{" in metrics
    pair.switch.touch()
    await until(lambda: pair.factor(pair.alice) == 1)
    states.append(keeper.state)
    shown.append(view.status().advice)
    pair.switch.unlink()
    await until(lambda: pair.factor(pair.alice) == 2)
    pair.file.unlink()
    await until(lambda: pair.factor(pair.alice) == 1)
    states.append(keeper.state)
    assert shown == ["off", "missing", "followed", "off"]
    assert states == [
        ArtifactState.MISSING,
        ArtifactState.FOLLOWED,
        ArtifactState.OFF,
        ArtifactState.MISSING,
    ]


async def test_what_has_expired_is_neither_followed_nor_passed_on(pair: Pair) -> None:
    keeper = await pair.follows(pair.alice, file=pair.file, is_served=True)
    other = await pair.follows(pair.bob, members=(pair.alice.hashname,), fetch_s=0.1)
    pair.publish(lasts_ms=1)
    await until(lambda: keeper.state is ArtifactState.STALE)
    assert NodeView(pair.alice).status().advice == "stale"
    stream = await pair.bob.open(pair.alice.hashname, ADVICE)
    assert await stream.read() == b"\x00"
    await until(lambda: pair.factor(pair.alice) == 1)  # it may have been followed for its moment
    assert other.state is ArtifactState.MISSING


async def test_what_nobody_trusted_has_signed_is_not_followed(pair: Pair) -> None:
    keeper = await pair.follows(pair.alice, file=pair.file)
    pair.publish(by=Identity.generate((0x40,), Random(2).randbytes))
    await until(lambda: keeper.state is ArtifactState.REFUSED)
    assert pair.factor(pair.alice) == 1
    assert "not trusted" in keeper.problem


async def test_a_member_is_asked_again_and_again_and_its_word_is_as_good_as_a_file(
    pair: Pair,
) -> None:
    """P5"""
    pair.publish(1.5)
    await pair.follows(pair.alice, file=pair.file, is_served=True)
    keeper = await pair.follows(
        pair.bob, members=(pair.alice.hashname,), fetch_s=0.2, is_served=True
    )
    await until(lambda: pair.factor(pair.bob) == 1.5)
    pair.publish(2.0)
    await until(lambda: pair.factor(pair.bob) == 2)
    pair.switch.touch()
    await until(lambda: pair.factor(pair.alice) == pair.factor(pair.bob) == 1)
    pair.switch.unlink()
    await until(lambda: pair.factor(pair.alice) == pair.factor(pair.bob) == 2)
    pair.file.unlink()
    await until(lambda: pair.factor(pair.bob) == 1)
    assert keeper.state is ArtifactState.MISSING


@pytest.mark.parametrize("said", [b"\x02garbage", b"", bytes(1 << 19), b"\x07"])
async def test_a_member_that_talks_nonsense_changes_nothing(pair: Pair, said: bytes) -> None:
    pair.publish()
    good = pair.file.read_bytes()
    sayings = [b"\x02" + good, *[said] * 9]
    requested = 0

    async def mallory(stream: TunnelStream) -> None:
        nonlocal requested
        requested += 1
        await stream.write(sayings[min(requested, len(sayings)) - 1])

    pair.alice.serve(ADVICE, mallory)
    keeper = await pair.follows(pair.bob, members=(pair.alice.hashname,), fetch_s=0.1)
    await until(lambda: requested > 1 and keeper.problem != "")
    await until(lambda: pair.factor(pair.bob) == 2)
    assert keeper.state is ArtifactState.FOLLOWED, "what was told first is still good"


async def test_an_older_advice_does_not_replace_a_newer_one(pair: Pair) -> None:
    pair.publish(1.5)
    old = pair.file.read_bytes()
    await asyncio.sleep(0.002)  # issued at another millisecond
    pair.publish(2.0)
    served = [pair.file.read_bytes(), old, old, old]
    requested = 0

    async def replaying(stream: TunnelStream) -> None:
        nonlocal requested
        requested += 1
        await stream.write(b"\x02" + served[min(requested, len(served)) - 1])

    pair.alice.serve(ADVICE, replaying)
    await pair.follows(pair.bob, members=(pair.alice.hashname,), fetch_s=0.05)
    await until(lambda: requested > 3)  # so that the answer before this one was dealt with
    learned = pair.bob.core.cost_advice.learned
    assert learned is not None
    assert learned.content.links[0].windows[0].factor == 2


async def test_advice_is_served_only_if_configured_and_requested_only_of_members(
    pair: Pair,
) -> None:
    keeper = await pair.follows(pair.bob, members=(pair.alice.hashname,), fetch_s=0.1)
    await until(lambda: keeper.problem != "")
    assert "nobody serves that there" in keeper.problem
    stream = await pair.bob.open(pair.alice.hashname, ADVICE)
    with pytest.raises((ChannelError, UnreachableError)):
        await stream.read()
    silent = await pair.follows(pair.alice)
    await asyncio.sleep(0)
    assert (silent.state, silent.problem) == (ArtifactState.MISSING, "")
