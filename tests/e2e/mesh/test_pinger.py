"""What the pings of a flock are good for: they tell a slow machine from a mesh that fails."""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest

from rookery.runtime.control.client import connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.control.server import CLIENTS_MAX
from rookery.runtime.node.snapshot import NodeStatus
from tests.e2e.mesh.diagnosis import diagnosis
from tests.e2e.mesh.flock import flock
from tests.e2e.mesh.pinger import (
    PATIENCE_S_MAX,
    PATIENT_AFTER_S,
    PairsLostError,
    Patience,
    Ping,
    pinging,
)
from tests.e2e.mesh.trouble import OVER_S, ready

LEAST_S = 0.25
REFUSAL = "programs look at this node already"


def answered(took_s: float) -> Ping:
    sent_s = time.monotonic()
    return Ping(sent_s, sent_s + took_s)


def test_one_quick_answer_does_not_end_the_patience_with_slow_ones() -> None:
    patience = Patience(LEAST_S)
    patience.learn(answered(0.5))
    for _ in range(3):
        patience.learn(answered(0.01))
    assert patience.seconds > 1.0
    for _ in range(50):
        patience.learn(answered(0.01))
    assert patience.seconds == LEAST_S


def test_who_hears_nothing_for_long_waits_longer() -> None:
    patience, now = Patience(LEAST_S), time.monotonic()
    patience.learn(Ping(now, now + LEAST_S, "lost"))
    assert patience.seconds == LEAST_S
    for _ in range(10):
        patience.learn(Ping(now, now + PATIENT_AFTER_S + 1.0, "lost"))
    assert patience.seconds == PATIENCE_S_MAX


@pytest.mark.slow
async def test_who_was_refused_at_a_control_socket_asks_again(tmp_path: Path) -> None:
    async with flock(tmp_path, 2) as birds:
        await ready(birds)
        [pair] = birds.pairs()
        control = birds.birds[pair[0]].control
        async with contextlib.AsyncExitStack() as others:
            for _ in range(CLIENTS_MAX):
                client = await others.enter_async_context(connected(control))
                await client.one(ControlRequest(do=ControlCommand.STATUS), NodeStatus)
            async with pinging(birds) as pinger, asyncio.timeout(OVER_S):
                while REFUSAL not in pinger.account(pair, since_s=0.0):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                await others.aclose()
                await pinger.resumed([pair], time.monotonic(), OVER_S)


@pytest.mark.slow
async def test_a_pair_that_is_lost_is_told_with_what_became_of_its_pings(tmp_path: Path) -> None:
    async with flock(tmp_path, 2) as birds:
        await ready(birds)
        async with pinging(birds) as pinger:
            await pinger.resumed(birds.pairs(), time.monotonic(), OVER_S)
            with pytest.raises(PairsLostError, match=r"1 to 0|0 to 1") as caught:
                await pinger.resumed(birds.pairs(), time.monotonic() + OVER_S, -OVER_S)
        assert caught.value.pairs == birds.pairs()
        found = await diagnosis(birds, caught.value.pairs)
    for name, other in (("n0", "n1"), ("n1", "n0")):
        assert f"--- {name} to {other}\n" in found
        assert f"trace 1: {other} " in found
        assert f"peer {other} up" in found
