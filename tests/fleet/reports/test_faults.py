"""F3, F4: reports and secrets on a bad network, with hubs and devices that fail; virtual time."""

import pytest

from rookery.fleet.enrolment.secrets import prove
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.report_sender import SenderCalled, SenderEnrolled, SenderRestarted
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.fleet.reports.sender_state import SenderState
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.wire.fleet.datagrams import BOOT_SEQUENCE_MAX, report_proved, serialize_report
from rookery.wire.fleet.tags import TELEMETRY
from rookery.wire.fleet.telemetry import DeviceReport, encode
from tests.fleet.reports.report_world import (
    FakeDevice,
    Network,
    World,
    check_nothing_lost_or_doubled,
    longest_silence,
)

DAY_S = 86_400.0
MINUTE = ReportValidatorSettings(policy="open", renewal_s=60)
STRANGER = "192.0.2.9:9999"


def only(world: World) -> FakeDevice:
    (device,) = world.devices.values()
    return device


def entry_of(world: World, device: FakeDevice) -> FleetEntry:
    return world.hub.entries[device.mac]


def forged_by(device: FakeDevice, state: SenderState, boot: int, sequence: int) -> bytes:
    """A report by who has stolen a state."""
    content = encode(DeviceReport(t=0, b=boot, n=sequence, load=99.0))
    proved = report_proved(TELEMETRY, device.mac, state.generation, boot, sequence, content)
    return serialize_report(proved, prove(state.secret, proved))


def test_a_third_lost_each_way_and_a_renewal_every_minute_locks_nobody_out_f4() -> None:
    world = World(seed=1, devices=20, network=Network(loss=0.3), settings=MINUTE)
    world.run(3600.0)
    for device in world.devices.values():
        assert longest_silence(world, device, 0.0, 3600.0) < 300.0
        assert longest_silence(world, device, 300.0, 3600.0) < 100.0
        assert len(device.waiting()) <= 8
        assert device.sender.counters.dropped == 0
    check_nothing_lost_or_doubled(world)
    counters = world.hub.validator.counters
    assert counters.reports > 20 * 170
    assert counters.renewals > 20 * 40
    assert counters.forged == counters.old_secret == counters.clones == 0


def test_repeats_and_reordering_double_nothing_f3() -> None:
    network = Network(loss=0.1, repeat=0.5, delay_max_s=15.0)
    world = World(seed=3, devices=5, network=network, settings=MINUTE)
    world.run(1800.0)
    assert world.hub.validator.counters.repeats > 100
    check_nothing_lost_or_doubled(world)
    for device in world.devices.values():
        assert longest_silence(world, device, 60.0, 1800.0) < 300.0


def test_an_outage_costs_nothing_within_what_is_kept_f3() -> None:
    world = World(seed=4, devices=3)
    world.run(120.0)
    world.network.loss = 1.0
    world.run(7200.0)
    assert all(len(device.waiting()) > 350 for device in world.devices.values())
    world.network.loss = 0.1
    world.run(300.0)
    assert all(len(device.waiting()) <= 1 for device in world.devices.values())
    check_nothing_lost_or_doubled(world)


def test_beyond_what_is_kept_the_oldest_go_and_are_counted() -> None:
    world = World(seed=5, devices=1, limits=SenderLimits(kept_max=10))
    world.run(100.0)
    world.network.loss = 1.0
    world.run(2000.0)
    world.network.loss = 0.0
    world.run(100.0)
    device = only(world)
    assert device.sender.counters.dropped == pytest.approx(90, abs=2)
    assert len(device.made - world.hub.origins().keys()) == device.sender.counters.dropped


def test_a_full_spool_acknowledges_nothing_and_loses_nothing() -> None:
    world = World(seed=6, devices=3, network=Network(loss=0.2))
    world.run(200.0)
    world.hub.is_spool_full = True
    world.run(600.0)
    assert all(len(device.waiting()) >= 29 for device in world.devices.values())
    world.hub.is_spool_full = False
    world.run(200.0)
    assert all(len(device.waiting()) <= 2 for device in world.devices.values())
    check_nothing_lost_or_doubled(world)


@pytest.mark.parametrize("reads_spool", [True, False])
def test_a_hub_that_crashes_again_and_again_loses_nothing_acknowledged(reads_spool: bool) -> None:
    world = World(seed=7, devices=10, network=Network(loss=0.3), settings=MINUTE)
    for _ in range(40):
        world.run(world.random.uniform(1.0, 60.0))
        world.hub.crash(reads_spool=reads_spool)
    world.run(120.0)
    spooled = world.hub.origins()
    for device in world.devices.values():
        assert longest_silence(world, device, 0.0, world.now) < 300.0
        assert not device.made - spooled.keys() - device.waiting()
    if reads_spool:
        check_nothing_lost_or_doubled(world)


def test_a_hub_that_forgot_everybody_is_told_again_f4() -> None:
    world = World(seed=8, devices=5)
    world.run(60.0)
    world.hub.flushed = {}
    world.hub.crash(reads_spool=False)
    world.run(60.0)
    assert len(world.hub.entries) == 5
    assert world.hub.validator.counters.enrolled == 5
    check_nothing_lost_or_doubled(world)


def test_a_hub_with_another_master_secret_is_told_again_f4() -> None:
    world = World(seed=9, devices=3, network=Network(loss=0.3))
    world.run(60.0)
    world.hub.master = bytes(32)
    world.hub.crash(reads_spool=True)
    world.run(120.0)
    for device in world.devices.values():
        assert longest_silence(world, device, 60.0, world.now) < 100.0


def test_a_device_that_lost_its_state_comes_back_by_its_key_f4() -> None:
    world = World(seed=10, devices=3, network=Network(loss=0.3), settings=MINUTE)
    world.run(200.0)
    for device in world.devices.values():
        device.restart(SenderState())
    world.run(300.0)
    for device in world.devices.values():
        assert longest_silence(world, device, 200.0, 500.0) < 100.0
        assert device.sender.is_enrolled
    assert world.hub.events["clone"] == 0


def test_a_device_that_kept_an_old_state_comes_back_f4() -> None:
    world = World(seed=11, devices=1, settings=MINUTE)
    world.run(100.0)
    device = only(world)
    old = device.sender.state
    world.run(600.0)
    waiting = device.waiting()
    device.restart(old)
    world.run(100.0)
    assert longest_silence(world, device, 700.0, 800.0) < 45.0
    assert world.hub.validator.counters.old_secret > 0
    assert not device.made - world.hub.origins().keys() - device.waiting() - waiting


def test_a_restart_with_kept_state_resends_what_was_kept_f3() -> None:
    world = World(seed=12, devices=1)
    world.run(100.0)
    world.network.loss = 1.0
    world.run(100.0)
    device = only(world)
    device.restart(device.sender.state)
    world.network.loss = 0.0
    world.run(60.0)
    check_nothing_lost_or_doubled(world)
    assert not device.waiting()


@pytest.mark.parametrize("renewal_s", [60, 86_400])
@pytest.mark.parametrize("step_s", [DAY_S, -DAY_S, 3 * DAY_S, -30 * DAY_S])
def test_steps_of_the_hubs_clock_lock_nobody_out_f4(step_s: float, renewal_s: int) -> None:
    settings = ReportValidatorSettings(policy="open", renewal_s=renewal_s)
    world = World(seed=13, devices=3, network=Network(loss=0.3), settings=settings)
    world.run(300.0)
    world.hub.clock_step_s = step_s
    world.run(400.0)
    world.hub.clock_step_s = 0.0
    world.run(400.0)
    for device in world.devices.values():
        assert longest_silence(world, device, 0.0, world.now) < 200.0
    check_nothing_lost_or_doubled(world)


def test_a_device_in_1970_is_told_which_boot_is_new_f4() -> None:
    world = World(seed=14, devices=1)
    world.run(100.0)
    device = only(world)
    device.clock_step_s = -2e9
    device.restart(SenderState())
    world.run(100.0)
    assert longest_silence(world, device, 100.0, 200.0) < 45.0
    assert any(isinstance(event, SenderRestarted) for event in device.events)
    check_nothing_lost_or_doubled(world)
    assert world.hub.events["clone"] == 0


def test_a_device_that_starts_over_and_over_in_1970_loses_nothing_f4() -> None:
    """A clock that always starts at the same time, and no memory: boots must differ by chance."""
    world = World(seed=15, devices=1)
    device = only(world)
    for _ in range(20):
        device.clock_step_s = -2e9
        device.restart(SenderState())
        world.run(50.0)
        assert not device.waiting()
    assert not device.made - world.hub.origins().keys()
    assert max(world.hub.origins().values()) == 1


def test_clones_take_turns_and_are_told_of_f4() -> None:
    world = World(seed=16, devices=1)
    device = only(world)
    world.run(100.0)
    twin = world.add(device.identity, device.mac)
    world.run(600.0)
    assert world.hub.validator.counters.clones > 0
    assert world.hub.events["clone"] > 0
    spooled = world.hub.origins()
    for each in (device, twin):
        assert len(each.made & spooled.keys()) > 20
        assert not each.made - spooled.keys() - each.waiting()
    assert max(spooled.values()) == 1


def test_restarts_now_and_then_are_no_clones() -> None:
    world = World(seed=17, devices=1, network=Network(repeat=0.5, delay_max_s=5.0))
    for _ in range(5):
        world.run(240.0)
        only(world).restart(only(world).sender.state)
    assert world.hub.validator.counters.clones == 0


def test_replays_double_nothing_and_are_no_sign_of_life_f4() -> None:
    world = World(seed=18, devices=2, settings=MINUTE)
    world.run(600.0)
    recorded = list(world.sent_by_devices)
    spooled = len(world.hub.spool)
    for device in world.devices.values():
        device.is_on = False
    world.run(60.0)
    seen = {key: entry.last_seen for key, entry in world.hub.entries.items()}
    counters = world.hub.validator.counters
    refused = counters.old_secret, counters.repeats
    for datagram in recorded:
        world.hub.receive(datagram, STRANGER)
    world.run(1.0)
    assert len(world.hub.spool) == spooled
    assert seen == {key: entry.last_seen for key, entry in world.hub.entries.items()}
    assert world.hub.events["replay"] > 0
    assert world.hub.events["old secret"] > 0
    assert counters.old_secret > refused[0]
    assert counters.repeats > refused[1]
    assert all(entry.address != STRANGER for entry in world.hub.entries.values())


def test_replays_of_what_the_window_forgot_are_late_f4() -> None:
    world = World(seed=19, devices=1)
    world.run(20.0 * 80)
    spooled = len(world.hub.spool)
    for datagram in world.sent_by_devices[:12]:
        world.hub.receive(datagram, STRANGER)
    assert world.hub.validator.counters.late > 5
    assert len(world.hub.spool) == spooled


def test_a_stolen_old_secret_is_of_no_use_f4() -> None:
    world = World(seed=20, devices=1, settings=MINUTE)
    world.run(100.0)
    device = only(world)
    stolen = device.sender.state
    world.run(120.0)
    content, spooled = entry_of(world, device).content, len(world.hub.spool)
    world.hub.receive(forged_by(device, stolen, BOOT_SEQUENCE_MAX, 1), STRANGER)
    assert world.hub.validator.counters.old_secret == 1
    assert world.hub.events["old secret"] == 1
    assert len(world.hub.spool) == spooled
    assert entry_of(world, device).content == content


def test_what_a_thief_of_the_newest_secret_does_ends_with_the_next_renewal_f4() -> None:
    world = World(seed=21, devices=1, network=Network(loss=0.2), settings=MINUTE)
    world.run(100.0)
    device = only(world)
    world.hub.receive(
        forged_by(device, device.sender.state, BOOT_SEQUENCE_MAX, BOOT_SEQUENCE_MAX), STRANGER
    )
    assert entry_of(world, device).boot == BOOT_SEQUENCE_MAX
    world.run(300.0)
    assert entry_of(world, device).boot < BOOT_SEQUENCE_MAX
    assert longest_silence(world, device, 100.0, 400.0) < 200.0
    assert device.made <= world.hub.origins().keys() | device.waiting()


def test_a_wish_reaches_the_device_through_losses_f7() -> None:
    world = World(seed=22, devices=5, network=Network(loss=0.3))
    world.run(100.0)
    world.hub.wishes = {device.mac: 77 for device in world.devices.values()}
    world.run(60.0)
    for device in world.devices.values():
        assert SenderCalled(77) in device.events
        assert sum(isinstance(event, SenderEnrolled) for event in device.events) == 1


def test_eighty_devices_behind_one_address_enrol() -> None:
    """The limiter holds them back a little, and nobody out."""
    world = World(seed=23, devices=80, network=Network(loss=0.1))
    moved = {f"10.9.9.9:{port}": each for port, each in enumerate(world.devices.values(), 1)}
    for address, device in moved.items():
        device.address = address
    world.devices = moved
    world.run(120.0)
    assert len(world.hub.entries) == 80
    assert all(device.sender.is_enrolled for device in world.devices.values())
