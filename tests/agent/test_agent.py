"""The agent as a whole: enrolled, reporting, called; through outages, losses and renewals."""

import os
import socket
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from rookery.agent.agent import Agent, AgentSettings
from rookery.agent.methods.config import FILE_NAME as CONFIG_NAME
from rookery.agent.methods.config import AgentConfig, ConfigFile
from rookery.agent.session import AgentSessionLimits
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.enrolment.secrets import code_id, code_key, new_code
from rookery.fleet.reports.report_sender import (
    HelloRefused,
    SecretRenewed,
    SenderCalled,
    SenderEnrolled,
    SenderEvent,
)
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.runtime.fleet.state_file import FILE_NAME
from rookery.wire.fleet.datagrams import UNKNOWN, FaultDatagram
from rookery.wire.fleet.telemetry import DeviceReport
from tests.agent.eventually import eventually
from tests.agent.identities import identity
from tests.agent.small_hub import SmallHub
from tests.agent.small_server import SmallServer

MAC = bytes.fromhex("02fc00000001")
QUICK = SenderLimits(resend_s=0.05, resend_max_s=0.2, pace_s=0.0, hello_s=0.05, hello_max_s=0.2)


@pytest.fixture
async def hub() -> AsyncIterator[SmallHub]:
    async with SmallHub() as hub:
        yield hub


def settings(hub: SmallHub, keep: Path | None = None, code: str | None = None) -> AgentSettings:
    return AgentSettings(
        identity=identity("router"),
        hub=hub.address,
        mac=MAC,
        config=AgentConfig(interval_s=1.0),
        keep=keep,
        code=code,
        reports=QUICK,
        sessions=AgentSessionLimits(backoff_s=0.01),
    )


def _is_waiting(agent: Agent, count: int) -> bool:
    return agent.waiting >= count


def device_reports(hub: SmallHub) -> list[DeviceReport]:
    return [report for report in hub.reports if isinstance(report, DeviceReport)]


async def test_it_enrols_and_reports_real_values(hub: SmallHub) -> None:
    """F3, F4: at first contact a secret, then reports of what the device really is."""
    events: list[SenderEvent] = []
    async with await Agent.start(settings(hub), events.append):
        await eventually(lambda: any(isinstance(event, SenderEnrolled) for event in events))
    (report, *_) = device_reports(hub)
    assert report.up > 0
    assert 0 < report.mem < 1
    assert report.ifs
    assert abs(report.t - time.time() * 1000) < 60_000
    entry = hub.entries[MAC]
    assert entry.hashname == identity("router").hashname
    enrolled = next(event for event in events if isinstance(event, SenderEnrolled))
    assert hub.validator.is_claimed(entry, enrolled.claim_code, time.time())


async def test_reports_of_an_outage_arrive_after_it(hub: SmallHub) -> None:
    """F3: unacknowledged reports are kept, and each is counted once."""
    async with await Agent.start(settings(hub), lambda _event: None) as agent:
        await eventually(lambda: bool(hub.reports) and agent.waiting == 0)
        await hub.go()
        for number in (1, 2, 3):
            agent.sample_now()
            await eventually(partial(_is_waiting, agent, number))
        await hub.come()
        await eventually(lambda: len(hub.reports) >= 4)
    origins = [(report.b, report.n) for report in hub.reports]
    assert len(set(origins)) == len(origins)
    assert sorted(number for _, number in origins)[:4] == [1, 2, 3, 4]


async def test_reports_outlive_the_agent_on_disk(hub: SmallHub, tmp_path: Path) -> None:
    """By choice; a new boot sends what the old one could not, under its own origin."""
    async with await Agent.start(settings(hub, tmp_path), lambda _event: None) as agent:
        await eventually(lambda: len(hub.reports) == 1)
        await eventually(lambda: agent.waiting == 0)
        await hub.go()
        agent.sample_now()
        await eventually(lambda: agent.waiting == 1)
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600
    await hub.come()
    events: list[SenderEvent] = []
    async with await Agent.start(settings(hub, tmp_path), events.append):
        await eventually(lambda: len(hub.reports) >= 3)
    first, kept, new = hub.reports[:3]
    assert (kept.b, kept.n) == (first.b, 2)
    assert new.b > first.b
    assert hub.validator.counters.enrolled == 1
    assert hub.validator.counters.hellos == 1


@pytest.mark.parametrize("damage", [None, b"", b"\xc1 rubbish"])
async def test_a_lost_or_damaged_state_costs_a_hello(
    damage: bytes | None, hub: SmallHub, tmp_path: Path
) -> None:
    """F4: a device that lost its state recovers through its key."""
    async with await Agent.start(settings(hub, tmp_path), lambda _event: None):
        await eventually(lambda: len(hub.reports) == 1)
    if damage is None:
        (tmp_path / FILE_NAME).unlink()
    else:
        (tmp_path / FILE_NAME).write_bytes(damage)
    async with await Agent.start(settings(hub, tmp_path), lambda _event: None):
        await eventually(lambda: len(hub.reports) == 2)
    assert hub.validator.counters.enrolled == 1
    assert hub.validator.counters.hellos == 2


async def test_a_hub_that_forgot_everything_learns_anew(hub: SmallHub) -> None:
    """F4: UNKNOWN makes the agent say hello, and nothing is lost."""
    async with await Agent.start(settings(hub), lambda _event: None) as agent:
        await eventually(lambda: len(hub.reports) == 1)
        hub.forget()
        agent.sample_now()
        await eventually(lambda: len(hub.reports) >= 2)
    assert hub.validator.counters.enrolled == 1


async def test_secrets_are_renewed_while_reporting(tmp_path: Path) -> None:
    """F4: the answer to a report carries the new one, and the next report proves it."""
    async with SmallHub(ReportValidatorSettings(policy="open", renewal_s=60)) as hub:
        events: list[SenderEvent] = []
        async with await Agent.start(settings(hub, tmp_path), events.append) as agent:
            await eventually(lambda: len(hub.reports) == 1)
            before = hub.entries[MAC].generation
            hub.skew_s = 61.0
            agent.sample_now()
            await eventually(lambda: any(isinstance(event, SecretRenewed) for event in events[1:]))
            agent.sample_now()
            await eventually(lambda: hub.entries[MAC].generation > before)
        assert hub.validator.counters.forged == 0


async def test_a_called_agent_comes(hub: SmallHub) -> None:
    """F7: the next report is answered by a call; F10, F11: and the agent serves at the server."""
    wish = 77
    events: list[SenderEvent] = []
    async with SmallServer() as server, await Agent.start(settings(hub), events.append) as agent:
        await eventually(lambda: len(hub.reports) == 1)
        hub.answers = [server.direct(wish)]
        hub.wishes[MAC] = wish
        agent.sample_now()
        assert await server.call("config.get") == {"interval_s": 1.0, "name": "", "labels": {}}
        hub.wishes.clear()
        assert await server.call("config.set", ["interval_s", 30]) == {"interval_s": 30.0}
        await server.end()
        await eventually(lambda: agent.sessions.running == 0)
        assert agent.sessions.tally["fulfilled"] == 1
    assert SenderCalled(wish) in events


async def test_without_a_code_a_closed_hub_refuses(tmp_path: Path) -> None:
    async with SmallHub(ReportValidatorSettings(policy="claim")) as hub:
        events: list[SenderEvent] = []
        async with await Agent.start(settings(hub), events.append):
            await eventually(lambda: HelloRefused("denied") in events)
        assert hub.entries == {}
        code = new_code(os.urandom)
        key = code_key(code)
        kept = EnrolmentCode(
            id=code_id(key), key=key, kind="router", owner=1, expires_at=time.time() + 600
        )
        hub.codes[kept.id] = kept
        async with await Agent.start(settings(hub, code=code), events.append):
            await eventually(lambda: MAC in hub.entries)


async def test_datagrams_from_other_addresses_are_ignored(hub: SmallHub) -> None:
    """Hostile: even who has seen a report cannot make the agent say hello from elsewhere."""
    async with await Agent.start(settings(hub), lambda _event: None) as agent:
        await eventually(lambda: bool(hub.reports) and agent.waiting == 0)
        entry = hub.entries[MAC]
        unknown = FaultDatagram(UNKNOWN, MAC, entry.boot, entry.sequence).serialize()
        port = int(entry.address.rpartition(":")[2])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for junk in (unknown, b"", b"\0", b"\0\x01" * 20, os.urandom(100)):
                stranger.sendto(junk, ("127.0.0.1", port))
        await _reports_again(hub, agent)
        assert hub.validator.counters.hellos == 1
        assert hub.transport is not None
        hub.transport.sendto(unknown, ("127.0.0.1", port))
        await eventually(lambda: hub.validator.counters.hellos == 2)


async def test_rubbish_from_the_hubs_address_does_no_harm(hub: SmallHub) -> None:
    """Hostile: acknowledgements, calls and secrets without a proof."""
    async with await Agent.start(settings(hub), lambda _event: None) as agent:
        await eventually(lambda: len(hub.reports) == 1)
        port = int(hub.entries[MAC].address.rpartition(":")[2])
        assert hub.transport is not None
        for tag in (1025, 1027, 1028, 1):
            for size in (6, 22, 30, 38, 46, 200):
                head = tag.to_bytes(2, "big") + size.to_bytes(2, "big")
                hub.transport.sendto(head + MAC + os.urandom(size - 6), ("127.0.0.1", port))
        await _reports_again(hub, agent)
        assert agent.sessions.running == 0
        assert agent.sessions.tally == {}


async def _reports_again(hub: SmallHub, agent: Agent) -> None:
    before = len(hub.reports)
    agent.sample_now()
    await eventually(lambda: len(hub.reports) > before)


async def test_an_interval_set_from_afar_counts_at_once(hub: SmallHub, tmp_path: Path) -> None:
    slow = msgspec.structs.replace(
        settings(hub), config=AgentConfig(interval_s=3600.0), config_folder=tmp_path
    )
    async with SmallServer() as server, await Agent.start(slow, lambda _event: None) as agent:
        await eventually(lambda: len(hub.reports) == 1)
        hub.answers, hub.wishes[MAC] = [server.direct(5)], 5
        agent.sample_now()
        await server.call("config.set", {"key": "interval_s", "value": 1})
        await eventually(lambda: len(hub.reports) >= 4)
    assert ConfigFile(AgentConfig(), tmp_path / CONFIG_NAME).config.interval_s == 1.0
