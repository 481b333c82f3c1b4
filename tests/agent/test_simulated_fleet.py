"""A crowd: many senders in one process, each of them a device to the hub."""

import os
import time
from collections.abc import AsyncIterator

import pytest

from rookery.agent.simulated_fleet import SimulatedFleet
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.enrolment.secrets import code_id, code_key, new_code
from tests.agent.eventually import eventually
from tests.agent.small_hub import SmallHub


@pytest.fixture
async def hub() -> AsyncIterator[SmallHub]:
    async with SmallHub() as hub:
        yield hub


async def test_all_of_them_enrol_and_report(hub: SmallHub) -> None:
    code = new_code(os.urandom)
    key = code_key(code)
    kept = EnrolmentCode(
        id=code_id(key), key=key, kind="server", owner=1, expires_at=time.time() + 600
    )
    hub.codes[kept.id] = kept
    fleet = await SimulatedFleet.start(hub.address, 60, [code], 1.0)
    try:
        await eventually(lambda: fleet.status().reporting == 61)
        await fleet.settle(20)
        status = fleet.status()
    finally:
        await fleet.close()
    assert status.enrolled == status.members == 61
    assert status.acknowledged == status.made == len(hub.reports)
    assert (status.lost, status.waiting, status.refused) == (0, 0, 0)
    kinds = [entry.kind for entry in hub.entries.values()]
    assert (kinds.count("router"), kinds.count("server")) == (60, 1)
    assert len({entry.address.partition(":")[0] for entry in hub.entries.values()}) > 1


async def test_what_a_deaf_hub_misses_is_sent_again(hub: SmallHub) -> None:
    fleet = await SimulatedFleet.start(hub.address, 20, [], 0.2)
    try:
        await eventually(lambda: fleet.status().reporting == 20)
        hub.is_deaf = True
        await eventually(lambda: fleet.status().waiting >= 20)
        hub.is_deaf = False
        await fleet.settle(20)
        status = fleet.status()
    finally:
        await fleet.close()
    assert status.waiting == 0
    assert status.resent > 0
    assert status.acknowledged == status.made == len(hub.reports)
